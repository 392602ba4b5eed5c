/** An environment variable and its row in the documentation. */
export interface Setting<Value> extends Options {
  readonly name: string;
  /** @throws Error that names the problem without quoting a secret */
  readonly parse: (text: string) => Value;
  readonly description: string;
  readonly default: Value;
}

/** Settings by the names of their fields in the configuration. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The parsed settings. A setting that has neither a value nor a default is undefined. */
export type ValuesOf<Rows extends Settings> = { readonly [Key in keyof Rows]: Rows[Key]['default'] };

interface Options {
  /** A first production needs it: it has a row in the README as well. */
  readonly isEssential?: true;
  /** The default as the documentation shows it, if that is not the plain value. */
  readonly defaultText?: string;
  /** The variable is the path of a file. `parse` gets the content of the file. `secret`: only Usher may read it. */
  readonly isFile?: true | 'secret';
  /** The name of another setting. If that one is set, this one is required. */
  readonly requiredWith?: string;
}

type Parse<Value> = (text: string) => Value;
type WithDefault<Value> = Options & { readonly default: Value };

function setting<V>(name: string, parse: Parse<V>, description: string, options: WithDefault<V>): Setting<V>;
function setting<V>(name: string, parse: Parse<V>, description: string, options?: Options): Setting<V | undefined>;
function setting<V>(name: string, parse: Parse<V>, description: string, options?: Options & { default?: V }) {
  return { name, parse, description, default: undefined, ...options };
}

export { setting };
