/** Splits the operations of a large service over several pages. */

import type { Operation } from '../../../api/catalogue.ts';
import type { Html } from '../../../http/html.ts';

interface RenderedOperation {
  readonly operation: Operation;
  readonly body: Html;
}

export interface ServicePart {
  /** Empty for the first part, which has the name of the service alone. */
  readonly slug: string;
  readonly topics: string;
  readonly items: readonly RenderedOperation[];
}

/** Leaves room for the frame, the style and the script of a page, which has at most 60 kB. */
const PART_BYTES = 40_000;

/** Keeps the operations in their order, and those of one topic together if they fit on a page. */
export function splitService(operations: readonly RenderedOperation[]): ServicePart[] {
  const parts: RenderedOperation[][] = [[]];
  for (const topic of groupByTopic(operations)) {
    if (sizeOf(last(parts)) + sizeOf(topic) > PART_BYTES) parts.push([]);
    for (const operation of topic) {
      if (sizeOf(last(parts)) + sizeOf([operation]) > PART_BYTES) parts.push([]);
      last(parts).push(operation);
    }
  }
  const filled = parts.filter(({ length }) => length > 0);
  if (filled.length === 1) return filled.map((items) => ({ slug: '', topics: '', items }));
  return filled.map((items, index) => ({
    slug: index === 0 ? '' : (items[0]?.operation.method.name ?? ''),
    topics: describeTopics(items),
    items,
  }));
}

function groupByTopic(operations: readonly RenderedOperation[]): RenderedOperation[][] {
  const groups: RenderedOperation[][] = [];
  for (const each of operations) {
    const before = groups.at(-1)?.[0];
    if (before && wordsOf(before)[0] === wordsOf(each)[0]) last(groups).push(each);
    else groups.push([each]);
  }
  return groups;
}

/** Returns the plurals of the resources that the operations name: messages of the schema, such as `ApiKey`. */
function describeTopics(items: readonly RenderedOperation[]): string {
  const topics = items.flatMap((item) => {
    const words = wordsOf(item);
    const { messages } = item.operation.method.parent.file;
    if (!messages.some(({ name }) => name === words.join(''))) return [];
    const singular = words.join(' ').toLowerCase().replace('api', 'API').replace('check in', 'check-in');
    return [`${singular.replace(/y$/, singular.endsWith('ey') ? 'y' : 'ie')}s`];
  });
  return [...new Set(topics)].join(', ') || 'more';
}

/** Returns the words after the verb, in the singular: `Api` and `Key` of `ListApiKeys`. */
function wordsOf({ operation }: RenderedOperation): string[] {
  const singular = operation.method.name.replace(/ies$/, 'y').replace(/s$/, '');
  return singular.split(/(?=[A-Z])/).slice(1);
}

function sizeOf(operations: readonly RenderedOperation[]): number {
  return operations.reduce((sum, { body }) => sum + Buffer.byteLength(body.text), 0);
}

function last<Item>(items: readonly Item[]): Item {
  return items.at(-1) as Item;
}
