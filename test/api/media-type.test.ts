import { expect, test } from 'vitest';
import { isForm, readMediaType } from '../../src/api/media-type.ts';

const read = (type?: string) => readMediaType({ headers: type === undefined ? {} : { 'content-type': type } });

test.each([
  ['application/json', 'application/json', true],
  ['Application/JSON ; charset="UTF-8" ; version=1', 'application/json', true],
  ['application/json;charset=utf8', 'application/json', true],
  ['application/json; version="a;charset=latin1"', 'application/json', true],
  ['application/json; charset=', 'application/json', false],
  ['application/json; charset=iso-8859-1', 'application/json', false],
  ['application/json; charset=utf-8x', 'application/json', false],
  ['application/json, text/plain', 'application/json, text/plain', true],
  ['text', 'text', true],
])('reads the media type %s', (type, name, isUtf8) => {
  expect(read(type)).toEqual({ name, isUtf8 });
});

test('reads a request without a media type', () => {
  expect(read()).toEqual({ name: '', isUtf8: true });
});

test('takes a form in any charset', () => {
  const types = [
    'application/x-www-form-urlencoded ;charset=ISO-8859-1',
    'application/x-www-form-urlencodedx',
    'text/plain',
  ];
  expect(types.map((type) => isForm({ headers: { 'content-type': type } }))).toEqual([true, false, false]);
});
