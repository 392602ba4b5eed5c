import { isFieldMask } from '../../api/field-mask.ts';
import type { Procedure } from '../../api/procedures.ts';
import { checkedRules, type Rule } from '../../domain/core/rule.ts';

export type RequestRules = Readonly<Record<string, Rule<unknown>>>;

/** Runs the handler with an empty request, and returns the rules that its validation publishes. */
export async function readRequestRules(procedure: Procedure): Promise<RequestRules> {
  let rules: RequestRules = {};
  const onChecked = (checked: unknown) => {
    rules = checked as RequestRules;
  };
  checkedRules.subscribe(onChecked);
  try {
    const call = { application: { id: '', clientId: '' }, now: new Date(0), run: () => Promise.reject(new Error()) };
    await procedure.handle(call as never, {}, { ipAddress: '', userAgent: '' });
  } catch {
    // Expected: the request is empty, and there is no database.
  } finally {
    checkedRules.unsubscribe(onChecked);
  }
  const unchecked = procedure.method.input.fields.filter((field) => !(field.localName in rules) && !isFieldMask(field));
  if (unchecked.length > 0) throw new Error(`${procedure.method.name} does not check ${unchecked.map(String).join()}`);
  return rules;
}
