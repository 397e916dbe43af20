// Migrations are a deploy step: in the right order, and failing when they fail.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { INFRA } from '../lib/config';
import { MAINTENANCE_TIMEOUT } from '../lib/functions';
import { Json, PROFILES, all, example, packages, profile, template } from './templates';

// eslint-disable-next-line @typescript-eslint/no-require-imports
const { migrate, handler } = require(join(INFRA, 'lib/migrate/index.js'));
const answer = (text: string, FunctionError?: string) => ({ Payload: Buffer.from(text), FunctionError });

for (const name of PROFILES) {
  const t = profile(name);
  const resources = t.toJSON().Resources as Record<string, Json>;
  const before = (id: string) => [resources[id].DependsOn ?? []].flat() as string[];
  const [step] = Object.keys(t.findResources('Custom::Migrations'));
  test(`${name}: the aliases and the schedules wait for the migrations`, () => {
    const later = Object.keys({ ...t.findResources('AWS::Lambda::Alias'), ...t.findResources('AWS::Events::Rule') });
    assert.equal(later.length, 4);
    for (const id of later) assert.ok(before(id).includes(step!), id);
  });
  test(`${name}: the migrations wait for the database, the network and the function's rights`, () => {
    const type = (id: string) => resources[id].Type;
    const first = before(step!).map(type);
    for (const wanted of ['AWS::RDS::DBInstance', 'AWS::EC2::NatGateway', 'AWS::EC2::Route', 'AWS::IAM::Policy', 'AWS::SecretsManager::SecretTargetAttachment']) {
      assert.ok(first.includes(wanted), wanted);
    }
    const maintenance = resources[step!].Properties.FunctionName.Ref;
    assert.match(maintenance, /^FunctionsMaintenance/);
  });
  test(`${name}: the gateway calls aliases only`, () => {
    for (const m of all(t, 'AWS::ApiGateway::Method')) assert.match(JSON.stringify(m.Integration.Uri), /Gateway(Chat|Api)Live/);
  });
}
test('a new package is a new step, the same package is the same step', () => {
  const folder = packages();
  const of = () => Object.keys(template({ ...example('smallest'), packages: folder }).findResources('Custom::Migrations'))[0];
  const first = of();
  assert.equal(of(), first);
  writeFileSync(join(folder, 'maintenance', 'bootstrap.zip'), 'other');
  assert.notEqual(of(), first);
});
test('a migration that fails three times fails the step with its words', async () => {
  let asked = 0;
  const failing = () => { asked += 1; return Promise.resolve(answer('{"errorMessage":"migration 7 failed"}', 'Unhandled')); };
  await assert.rejects(migrate(failing, () => {}), /migrations were not applied: .*migration 7 failed/);
  assert.equal(asked, 3);
});
test('a function that is busy is asked again', async () => {
  let asked = 0;
  const busy = () => { asked += 1; if (asked === 1) throw new Error('Rate Exceeded'); return Promise.resolve(answer('{"applied":[1]}')); };
  assert.equal(await migrate(busy, () => {}), '{"applied":[1]}');
});
test('to delete the step runs nothing', async () => {
  assert.deepEqual(await handler({ RequestType: 'Delete', PhysicalResourceId: 'p' }), { PhysicalResourceId: 'p' });
});
test('the step has time for two attempts', () => {
  const [timeout] = Object.values(profile('smallest').findResources('AWS::Lambda::Function')).filter((r) => r.Properties.Handler === 'index.handler').map((r) => r.Properties.Timeout);
  assert.ok(timeout > 2 * MAINTENANCE_TIMEOUT && timeout < 900);
});
