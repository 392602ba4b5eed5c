import type postgres from 'postgres';

const MIN_VERSION = 14;

/** @throws Error that says what to do if the database is of a kind that Usher cannot use */
export async function requireUsable(client: postgres.Sql): Promise<void> {
  const [facts] = await client`
    select current_setting('server_version') as version, current_setting('server_encoding') as encoding`;
  const { version, encoding } = facts ?? {};
  if (Number.parseInt(version, 10) < MIN_VERSION)
    throw new Error(`it is Postgres ${version}, and Usher needs ${MIN_VERSION}`);
  if (encoding !== 'UTF8') {
    throw new Error(
      `its encoding is ${encoding}, and Usher needs UTF8. ` +
        `Create another one: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
}
