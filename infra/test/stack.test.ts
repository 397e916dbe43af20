// The rules of the deployment, read off the synthesised template.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Config, faults } from '../lib/config';
import { SuperbizStack } from '../lib/stack';

const packages = mkdtempSync(join(tmpdir(), 'superbiz-'));
for (const name of ['chat', 'api', 'maintenance']) {
  mkdirSync(join(packages, name));
  writeFileSync(join(packages, name, 'bootstrap.zip'), name);
}
const base: Config = {
  stage: 'test', modelBaseUrl: 'https://model.example/v1', modelName: 'm', production: false, packages,
  modelSecretArn: 'arn:aws:secretsmanager:us-east-1:111122223333:secret:fake-AbCdEf', logGroups: ['/app/payment'],
  runTimeoutSeconds: 110, chatConcurrency: 5, poolConnections: 2, maxConnections: 60,
};
for (const production of [false, true]) {
  const t = Template.fromStack(new SuperbizStack(new App(), 's', { ...base, production }));
  const all = (type: string) => Object.values(t.findResources(type)).map((r) => r.Properties);
  const name = production ? 'production' : 'smallest';
  test(`${name}: stores are private and encrypted`, () => {
    t.hasResourceProperties('AWS::RDS::DBInstance', { StorageEncrypted: true, PubliclyAccessible: false, DeletionProtection: production });
    t.hasResourceProperties('AWS::RDS::DBParameterGroup', { Parameters: { require_secure_transport: 'ON' } });
    t.hasResourceProperties('AWS::DynamoDB::Table', { TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true } });
  });
  test(`${name}: only chat streams, and every method wants a signature`, () => {
    const methods = all('AWS::ApiGateway::Method');
    assert.equal(methods.filter((m) => m.Integration.ResponseTransferMode === 'STREAM').length, 1);
    for (const m of methods) assert.equal(m.AuthorizationType, 'AWS_IAM');
  });
  test(`${name}: the chat function outlives its run`, () => {
    const chat = all('AWS::Lambda::Function').find((f) => f.Environment?.Variables.MODEL_NAME);
    assert.ok(chat.Timeout > 110 + 5);
  });
  test(`${name}: no wildcard without a reason`, () => {
    const free = ['logs:GetQueryResults', 'logs:StopQuery', 'xray:PutTraceSegments', 'xray:PutTelemetryRecords'];
    for (const s of all('AWS::IAM::Policy').flatMap((p) => p.PolicyDocument.Statement)) {
      const doing = [s.Action].flat();
      assert.ok(doing.every((a: string) => !a.includes('*')), doing.join());
      if ([s.Resource].flat().includes('*')) assert.ok(doing.every((a: string) => free.includes(a)), doing.join());
    }
  });
  test(`${name}: every alarm has a runbook`, () => {
    for (const a of all('AWS::CloudWatch::Alarm')) assert.ok(existsSync(join('..', a.AlarmDescription)), a.AlarmDescription);
  });
}
test('faults are named together', () => {
  assert.deepEqual(faults(base), []);
  assert.equal(faults({ ...base, stage: 'X', modelName: ' ', logGroups: ['*'], maxConnections: 3 }).length, 4);
});
