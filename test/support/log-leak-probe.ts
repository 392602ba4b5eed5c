/** A service whose log is kept, and who calls it with values that are looked for there afterwards. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { createLogger } from '../../src/log.ts';
import { type Answer, CALLERS, type Caller } from './callers.ts';
import { ADMIN_KEY, startTestService, type TestService, type TestServiceOptions } from './service.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** What the one `call` line of a call must say. */
export interface ExpectedCall {
  readonly requestId: string;
  readonly protocol: string;
  readonly method: string;
  readonly code: string;
  readonly application: string | undefined;
}

/** The RPC caller that does for a REST caller what REST cannot. */
export const anyRpc = CALLERS.find(({ isRest }) => !isRest);

export class LogLeakProbe {
  readonly lines: string[] = [];
  readonly expected: ExpectedCall[] = [];
  readonly planted = new Set<string>([ADMIN_KEY]);
  service: TestService | undefined;

  async start(options: TestServiceOptions = {}): Promise<TestService> {
    const logger = createLogger('trace', { write: (line) => void this.lines.push(line) });
    this.service = await startTestService({ ...options, logger });
    return this.service;
  }

  /** A value that is like no other and needs escaping in most encodings. */
  plant(name: string): string {
    const value = `${name}+${randomBytes(6).toString('hex')}/ü?&="${name}`;
    this.planted.add(value);
    return value;
  }

  remember(...values: (string | undefined)[]): void {
    for (const value of values) if (value) this.planted.add(value);
  }

  async call(
    caller: Caller,
    method: DescMethodUnary,
    fields: JsonObject,
    { headers, application }: { headers: Record<string, string>; application?: string | undefined },
  ): Promise<Answer> {
    const requestId = randomUUID();
    const by = caller.supports(method) ? caller : anyRpc;
    if (!by) throw new Error('Nobody can make the call');
    const answer = await by.call(this.service?.url ?? '', method, fields, { ...headers, 'x-request-id': requestId });
    this.expected.push({
      requestId,
      protocol: by.isRest ? 'rest' : (/^(connect|grpc-web|grpc)/.exec(by.name.toLowerCase())?.[0] ?? ''),
      method: `${method.parent.typeName}/${method.name}`,
      code: answer.code === '500' ? 'internal' : answer.code,
      application,
    });
    return answer;
  }

  get callLines(): LogLine[] {
    return this.parsed.filter(({ msg }) => msg === 'call');
  }

  get parsed(): LogLine[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  /** The planted values that a line of the log holds, in whatever spelling. */
  get leaks(): string[] {
    const log = this.lines.join('');
    const plain = this.parsed.map((line) => Object.values(line).map(String).join('\n')).join('\n');
    return [...this.planted].flatMap((value) =>
      Object.entries(spellingsOf(value))
        .filter(([, spelling]) => log.includes(spelling) || plain.includes(spelling))
        .map(([name]) => `${name}: ${value}`),
    );
  }
}

/** A value as it might turn up in a log. */
export function spellingsOf(value: string): Record<string, string> {
  const bytes = Buffer.from(value);
  // In the middle of something, base64 has one of three spellings, less its ends.
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
      .slice(4, -2),
  );
  return {
    raw: value,
    json: JSON.stringify(value).slice(1, -1),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    url: encodeURIComponent(value),
    form: new URLSearchParams({ value }).toString().slice('value='.length),
    ...Object.fromEntries(shifted.map((spelling, shift) => [`base64, shifted by ${shift}`, spelling])),
    ...Object.fromEntries(
      shifted.map((spelling, shift) => [
        `base64url, shifted by ${shift}`,
        spelling.replaceAll('+', '-').replaceAll('/', '_'),
      ]),
    ),
  };
}
