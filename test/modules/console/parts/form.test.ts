/** Fields of the forms of the console: what they show before anything is typed, and after a form was refused. */
import { describe, expect, test } from 'vitest';
import { invalidField, ServiceError, type Violation } from '../../../../src/domain/core/errors.ts';
import { type Html, html } from '../../../../src/http/html.ts';
import type { Problem } from '../../../../src/modules/console/console-request.ts';
import {
  isTyped,
  renderCheck,
  renderEditedSelect,
  renderField,
  renderForm,
  renderProblem,
  renderSelect,
  renderVersion,
  textOrNull,
} from '../../../../src/modules/console/parts/form.ts';

type Typed = Record<string, string>;

const refusal = (error: ServiceError, typed: Typed = {}) => ({ problem: { error, form: new URLSearchParams(typed) } });
const changedMeanwhile = (typed: Typed) => refusal(new ServiceError('CHANGED_MEANWHILE'), typed);
const violationsOf = (...violations: Violation[]) => new ServiceError('VALIDATION_FAILED', { violations });
const attributesOf = ({ text }: Html, element: string) => new RegExp(`<${element}([^>]*)>`).exec(text)?.[1] ?? '';
const textOf = (rendered: Html | false) => (rendered ? rendered.text.replace(/<[^>]*>/g, '').trim() : '');
const OPTIONS = [
  ['1', 'One'],
  ['2', 'Two'],
] as const;

test('a form has the class that it is given, or none', () => {
  expect(attributesOf(renderForm('/here', html``, 'fields'), 'form')).toBe(
    ' method="post" action="/here" class="fields"',
  );
  expect(attributesOf(renderForm('/here', html``), 'form')).toBe(' method="post" action="/here"');
});

describe('a field', () => {
  const given = { name: 'email', label: 'Address' };
  const plain = ' id="email" name="email" spellcheck="false" type="text" value="" autocomplete="off"';

  test.each([
    [{}, plain],
    [{ isRequired: true }, plain.replace(' type', ' required type')],
    [{ maxLength: 63 }, plain.replace(' type', ' maxlength="63" type')],
    [{ placeholder: 'you' }, plain.replace(' type', ' placeholder="you" type')],
    [{ offers: 'user' as const }, plain.replace(' type', ' data-offers="user" type')],
    [
      { type: 'file' as const, accept: '.csv', maxBytes: 9 },
      plain.replace(' type="text"', ' accept=".csv" data-max-bytes="9" type="file"'),
    ],
    [{ note: 'Why' }, plain.replace(' type', ' aria-describedby="email-note" type')],
    [{ value: 'a@b' }, plain.replace('value=""', 'value="a@b"')],
  ])('with %j has these attributes and no others', (options, attributes) => {
    expect(attributesOf(renderField({}, { ...given, ...options }), 'input')).toBe(attributes);
  });

  test('shows its note below it, and otherwise only its label', () => {
    expect(renderField({}, { ...given, note: 'Why' }).text).toContain('<p id="email-note">Why</p>');
    expect(textOf(renderField({}, given))).toBe('Address');
    expect(renderField({}, given).text).not.toContain('<p');
  });

  test('has what was typed, and says what is wrong with it, after the form was refused', () => {
    const rendered = renderField(refusal(invalidField('email', 'must be one'), { email: 'a b' }), {
      ...given,
      value: 'saved@b',
      note: 'Why',
    });
    const attributes = attributesOf(rendered, 'input');
    expect(attributes).toContain(' aria-invalid="true" aria-describedby="email-wrong email-note"');
    expect(attributes).toContain('value="a b"');
    expect(rendered.text).toContain('<p class="wrong" id="email-wrong"><bdi>must be one</bdi></p>');
    expect(textOf(rendered)).not.toContain('Saved');
  });

  test.each<[string, ServiceError, string]>([
    ['another field', invalidField('name', 'must be one'), ''],
    ['a field whose name begins with its name', invalidField('emails', 'must be one'), ''],
    ['a part of it', invalidField('email.host', 'must be one'), '.host must be one'],
    [
      'two parts of it',
      violationsOf({ field: 'email[0]', message: 'is wrong' }, { field: 'email[2]', message: 'is long' }),
      '[0] is wrong; [2] is long',
    ],
    ['an address that is taken', new ServiceError('USER_ALREADY_EXISTS'), 'User already exists'],
    ['something else that is taken', new ServiceError('EVENT_ALREADY_EXISTS'), ''],
  ])('is marked if it is refused: because of %s', (_, error, wrong) => {
    const rendered = renderField(refusal(error), given);
    expect(textOf(rendered)).toBe(`Address${wrong}`);
    expect(attributesOf(rendered, 'input').includes('aria-invalid')).toBe(wrong !== '');
  });

  test.each([
    ['what was typed is saved', 'a\r\nb ', 'a\nb', ''],
    ['somebody has saved another value', 'mine', 'theirs', 'Saved: theirs'],
    ['somebody has cleared it', 'mine', '', 'Saved: nothing'],
  ])('shows the saved value to whom somebody else forestalled: %s', (_, typed, saved, shown) => {
    const rendered = renderField(changedMeanwhile({ email: typed }), { ...given, rows: 2, value: saved });
    expect(/<p class="saved">(.*?)<\/p>/s.exec(rendered.text)?.[1]?.replace(/<[^>]*>/g, '') ?? '').toBe(shown);
  });
});

describe('a checkbox', () => {
  const box = (isChecked: boolean, problem?: { readonly problem: Problem }) => {
    const rendered = renderCheck(problem ?? {}, { name: 'types', value: 'a', label: 'Type', isChecked });
    expect(rendered.text.includes('class="tag')).toBe(textOf(rendered) !== 'Type');
    return [/ checked/.test(attributesOf(rendered, 'input')), textOf(rendered)];
  };

  test('is as it is saved, and after a refusal as it was sent', () => {
    expect([box(true), box(false)]).toEqual([
      [true, 'Type'],
      [false, 'Type'],
    ]);
    expect(box(true, refusal(invalidField('x', ''), { types: 'b' }))).toEqual([false, 'Type']);
    expect(box(false, refusal(invalidField('x', ''), { types: 'a' }))).toEqual([true, 'Type']);
  });

  test('shows the saved state where it differs from the sent one', () => {
    expect(box(true, changedMeanwhile({}))).toEqual([false, 'Type Saved: yes']);
    expect(box(false, changedMeanwhile({ types: 'a' }))).toEqual([true, 'Type Saved: no']);
    expect(box(true, changedMeanwhile({ types: 'a' }))).toEqual([true, 'Type']);
  });
});

describe('a list to choose from', () => {
  const chosenIn = ({ text }: Html) => [...text.matchAll(/<option value="(\w)" selected>/g)].map(([, value]) => value);

  test('has one chosen, and its note if it has one', () => {
    const rendered = renderSelect('days', 'Days', OPTIONS, '2', 'Of work');
    expect(chosenIn(rendered)).toEqual(['2']);
    expect(attributesOf(rendered, 'select')).toBe(' id="days" name="days" aria-describedby="days-note"');
    expect(rendered.text).toContain('<p id="days-note">Of work</p>');
    const plain = renderSelect('days', 'Days', OPTIONS, '2');
    expect(attributesOf(plain, 'select')).toBe(' id="days" name="days"');
    expect(textOf(plain)).toBe('DaysOneTwo');
    expect(plain.text).not.toContain('<p');
  });

  test.each([
    ['what is saved', {}, ['1'], ''],
    ['what was chosen', refusal(invalidField('x', ''), { days: '2' }), ['2'], ''],
    ['what was chosen, beside what is saved', changedMeanwhile({ days: '2' }), ['2'], 'Saved: One'],
    ['what was chosen and is saved', changedMeanwhile({ days: '1' }), ['1'], ''],
  ])('shows %s', (_, request, chosen, saved) => {
    const rendered = renderEditedSelect(request, { name: 'days', label: '', options: OPTIONS, saved: '1', note: '' });
    expect(chosenIn(rendered)).toEqual(chosen);
    expect(textOf(rendered)).toBe(`OneTwo${saved && ` ${saved}`}`);
  });
});

test.each<[string, { readonly problem?: Problem }, string]>([
  ['nothing', {}, ''],
  ['an error as a whole', refusal(new ServiceError('USER_NOT_FOUND')), 'User not found.'],
  ['that fields are wrong', refusal(invalidField('email', 'x')), 'Nothing is saved yet: see the errors below.'],
  [
    'what is wrong with fields that are not shown, and with parts of them',
    refusal(
      violationsOf(
        { field: 'email', message: 'x' },
        { field: 'groups[1].name', message: 'y' },
        { field: 'id', message: 'z' },
      ),
    ),
    'Nothing is saved yet: see the errors below.groups[1].name: yid: z',
  ],
])('an alert says %s', (_, request, text) => {
  const rendered = renderProblem(request, ['email']);
  expect(textOf(rendered)).toBe(text);
  expect(rendered === false).toBe(text === '');
});

test.each<[string, { readonly problem?: Problem }, string]>([
  ['the saved one', {}, 'saved'],
  [
    'the one that it was opened with, if it is refused',
    refusal(invalidField('x', ''), { version: 'opened' }),
    'opened',
  ],
  ['the saved one, once the saved values are beside it', changedMeanwhile({ version: 'opened' }), 'saved'],
])('a form has a version: %s', (_, request, version) => {
  expect(renderVersion(request, 'saved').text).toContain(`name="version" value="${version}"`);
});

test.each([
  [{ sending: 'x', version: 'y', email: ' ' }, false],
  [{ sending: 'x' }, false],
  [{ version: 'y' }, false],
  [{ version: 'y', email: 'a' }, true],
])('whether anything was typed in %j: %s', (fields, expected) => {
  expect(isTyped(new URLSearchParams(fields as Typed))).toBe(expected);
});

test.each([
  [' Ada ', 'Ada'],
  [' ', null],
  ['', null],
])('a field with %j is stored as %j', (typed, stored) => {
  expect(textOrNull(new URLSearchParams({ name: typed }), 'name')).toBe(stored);
});
