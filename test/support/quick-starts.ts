import messageReaders from '../../gen/message-readers.json' with { type: 'json' };
import quickStarts from '../../gen/quick-starts.json' with { type: 'json' };
import sessionReaders from '../../gen/session-readers.json' with { type: 'json' };

/** Returns a quick start of the API reference. @throws Error if there is none with the title */
export function quickStartOf(title: string): (typeof quickStarts)[number] {
  const found = quickStarts.find((each) => each.title === title);
  if (!found) throw new Error(`no quick start for ${title}`);
  return found;
}

/** Returns the commands that set up the reader of messages, or what checks sessions in memory, in the language. */
export function readerSetupOf(language: string, of: 'messages' | 'sessions'): string {
  return (
    { messages: messageReaders, sessions: sessionReaders }[of].find(({ title }) => title === language)?.setup ?? ''
  );
}
