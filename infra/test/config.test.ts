// Configurations: what is refused, and that all of it is told at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Config, faults } from '../lib/config';
import { PROFILES, example, functions, packages, template } from './templates';

test('the examples are right', () => {
  for (const name of PROFILES) assert.deepEqual(faults(example(name)), []);
});
test('faults are named together', () => {
  const base = example('smallest');
  const wrong = { ...base, stage: 'X', model: { ...base.model, name: ' ' }, auth: { mode: 'none' }, maxConnections: 3, typo: 1 } as unknown as Config;
  assert.equal(faults(wrong).length, 5);
});
test('what is missing is a fault and no crash', () => {
  assert.ok(faults({} as Config).length > 10);
});
for (const [what, change, right] of [
  ['a secret by wildcard', { model: { baseUrl: 'https://m.example', name: 'm', secretArn: 'arn:aws:secretsmanager:us-east-1:111122223333:secret:*' } }, /model.secretArn/],
  ['a provider without TLS', { fallback: { baseUrl: 'http://m.example', name: 'm', secretArn: 'x' } }, /fallback.baseUrl/],
  ['an issuer that is no URL', { auth: { mode: 'oidc', issuer: 'me', audience: 'a' } }, /auth.issuer/],
  ['a run longer than a function', { runTimeoutSeconds: 871 }, /at most 870/],
  ['a variable nobody reads', { environment: { FOO: '1' } }, /read by no function/],
  ['a variable that the stack sets', { environment: { DATABASE_URL: 'x' } }, /set by the stack/],
  ['a key in the clear', { environment: { MODEL_API_KEY: 'k' } }, /MODEL_API_KEY is set by the stack/],
  ['a log retention that CloudWatch does not know', { logRetentionDays: 31 }, /logRetentionDays/],
] as [string, Partial<Config>, RegExp][]) {
  test(`refused: ${what}`, () => assert.match(faults({ ...example('smallest'), ...change }).join('\n'), right));
}
test('more variables go to the functions that read them', () => {
  const { chat, api, maintenance } = functions(template({ ...example('smallest'), environment: { BUDGET_TOOL_CALLS: '5', LOG_LEVEL: 'debug' } }));
  const read = (f: { Environment: { Variables: Record<string, string> } }) => [f.Environment.Variables.BUDGET_TOOL_CALLS, f.Environment.Variables.LOG_LEVEL];
  assert.deepEqual([read(chat), read(api), read(maintenance)], [['5', 'debug'], [undefined, 'debug'], [undefined, 'debug']]);
});
test('functions are of the architecture that was packaged', () => {
  const of = (architecture?: string) => functions(template({ ...example('smallest'), packages: packages(architecture) })).chat.Architectures;
  assert.deepEqual([of(), of('arm64'), of('x86_64')], [['arm64'], ['arm64'], ['x86_64']]);
});
