/** A service whose log is kept. */
import { createLogger } from '../../src/log.ts';
import { startTestService, type TestService, type TestServiceOptions } from './service.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export class RecordedLog {
  /** As they are written, each with its line break. */
  readonly lines: string[] = [];

  readonly logger;

  constructor(level: 'trace' | 'error' = 'trace') {
    this.logger = createLogger(level, { write: (line) => void this.lines.push(line) });
  }

  /** Starts a service that writes this log. */
  async start(options: TestServiceOptions = {}): Promise<TestService> {
    return startTestService({ ...options, logger: this.logger });
  }

  get parsed(): LogLine[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  /** The lines of calls, one each. */
  get callLines(): LogLine[] {
    return this.parsed.filter(({ msg }) => msg === 'call');
  }

  /** The log as written, and its values without the escapes of JSON. */
  get text(): string {
    const values = this.parsed.map((line) => Object.values(line).map(String).join('\n'));
    return [...this.lines, ...values].join('\n');
  }
}
