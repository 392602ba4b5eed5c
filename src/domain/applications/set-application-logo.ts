import { hash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { isManagedByFile, requireUnmanaged } from '../core/managed-by-file.ts';
import { type Rule, rule, Unacceptable } from '../core/rule.ts';
import { check, oneOf, type Unchecked, uuid } from '../core/validation.ts';
import { type ApplicationDetails, applicationColumns } from './application.ts';
import { readLogoImage } from './logo-image.ts';

const LOGO_THEMES = ['light', 'dark'] as const;

/** Accepts bytes, in JSON as base64. Missing bytes are empty. */
const image: Rule<Uint8Array> = rule(
  { type: 'string', format: 'byte', minLength: 0 },
  (value) => {
    if (value === undefined) return new Uint8Array();
    if (!(value instanceof Uint8Array)) throw new Unacceptable('must be bytes');
    return value;
  },
  { isOptional: true },
);

const rules = { applicationId: uuid, theme: oneOf(LOGO_THEMES), image };

/** Sets or, without bytes, removes a logo. @throws ServiceError `Invalid logo`, `Application not found`, `Managed by file` */
export async function setApplicationLogo(
  { run }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationDetails> {
  const { applicationId, theme, image } = check(request, rules);
  const [found] =
    image.length > 0
      ? await run(upsertLogo, {
          applicationId,
          theme,
          image,
          digest: hash('sha256', image, 'buffer'),
          ...readLogoImage(image),
        })
      : await run(deleteLogo, { applicationId, theme });
  if (!found) throw new ServiceError('APPLICATION_NOT_FOUND');
  requireUnmanaged(found);
  return found.application;
}

const FOUND = { application: applicationColumns, isManaged: t.boolean };

const isDark = sql`${p.text('theme')} = 'dark'`;

/** Returns the assignments to the columns of the theme. */
function changedLogo(digest: SQL, size: SQL): SQL {
  return sql`logo_digest = case when ${isDark} then a.logo_digest else ${digest} end,
      logo_size = case when ${isDark} then a.logo_size else ${size} end,
      dark_logo_digest = case when ${isDark} then ${digest} else a.dark_logo_digest end,
      dark_logo_size = case when ${isDark} then ${size} else a.dark_logo_size end`;
}

/** Locks the application, so that its digests match the stored logos. A logo that is stored already changes nothing. */
const upsertLogo = statement('upsert_application_logo', FOUND)`
  with wanted as (
    select ${columnsOf(applicationColumns)}, ${isManagedByFile()} as is_managed, not ${isManagedByFile()} and
      case when ${isDark} then dark_logo_digest else logo_digest end is distinct from ${p.bytes('digest')} as is_new
    from applications where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), stored as (
    insert into application_logos (application_id, theme, digest, media_type, width, height, image)
    select id, ${p.text('theme')}, ${p.bytes('digest')}, ${p.text('mediaType')}, ${p.integer('width')},
      ${p.integer('height')}, ${p.bytes('image')}
    from wanted where is_new
    on conflict (application_id, theme) do update set digest = excluded.digest, media_type = excluded.media_type,
      width = excluded.width, height = excluded.height, image = excluded.image
  ), changed as (
    update applications a
    set ${changedLogo(p.bytes('digest'), sql`array[${p.integer('width')}, ${p.integer('height')}]::smallint[]`)}
    from wanted w where a.id = w.id and w.is_new
    returning ${columnsOf(applicationColumns, 'a')}
  ), ${auditEvent({ resource: sql`id`, from: sql`changed` })}
  select ${columnsOf(applicationColumns)}, false as is_managed from changed
  union all select ${columnsOf(applicationColumns)}, is_managed from wanted where not is_new`;

const deleteLogo = statement('delete_application_logo', FOUND)`
  with wanted as (
    select ${columnsOf(applicationColumns)}, ${isManagedByFile()} as is_managed from applications where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), removed as (
    delete from application_logos l using wanted
    where l.application_id = ${p.uuid('applicationId')} and l.theme = ${p.text('theme')}
      and not wanted.is_managed
    returning l.application_id
  ), changed as (
    update applications a
    set ${changedLogo(sql`null`, sql`null`)}
    from wanted w where a.id = w.id and not w.is_managed
    returning ${columnsOf(applicationColumns, 'a')}
  ), ${auditEvent({ resource: sql`application_id`, from: sql`removed` })}
  select ${columnsOf(applicationColumns)}, false as is_managed from changed
  union all select ${columnsOf(applicationColumns)}, is_managed from wanted where is_managed`;
