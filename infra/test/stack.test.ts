// The rules of the deployment, read off the synthesised templates of the three profiles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENVIRONMENT, FUNCTIONS } from '../lib/config';
import { PROFILES, all, example, functions, profile, rights, statements, template } from './templates';

/** The resources with a star that are meant, each with its reason. */
const WILDCARDS = [
  { actions: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], resource: /^"\*"$/, because: 'AWS knows no resource for traces' },
  { actions: ['logs:GetQueryResults', 'logs:StopQuery'], resource: /^"\*"$/, because: 'a query is named by its id alone' },
  { actions: ['logs:StartQuery'], resource: /:log-group:[^*]+:\*"\]\]\}$/, because: 'the streams of one log group; its ARN is written so' },
  { actions: ['lambda:InvokeFunction'], resource: /MigrationsHandler[^*]+":\*"\]\]\}$|MigrationsHandler[^*]+:\*"\]\]\}$/, because: 'the versions of one function' },
];

for (const name of PROFILES) {
  const t = profile(name);
  const c = example(name);
  test(`${name}: stores are private and encrypted`, () => {
    const databases = [...all(t, 'AWS::RDS::DBInstance'), ...all(t, 'AWS::RDS::DBCluster')];
    assert.ok(databases.length > 0);
    for (const d of all(t, 'AWS::RDS::DBInstance')) assert.equal(d.PubliclyAccessible, false);
    for (const d of databases.filter((d) => d.MasterUserPassword)) {
      assert.equal(d.StorageEncrypted, true);
      assert.equal(d.DeletionProtection, c.production);
    }
    const parameters = [...all(t, 'AWS::RDS::DBParameterGroup'), ...all(t, 'AWS::RDS::DBClusterParameterGroup')];
    assert.ok(parameters.some((p) => p.Parameters.require_secure_transport === 'ON' && p.Parameters.max_connections === String(c.maxConnections)));
    t.hasResourceProperties('AWS::DynamoDB::Table', { TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true } });
    for (const f of Object.values(functions(t))) assert.ok(f.VpcConfig.SubnetIds.length === 2);
    for (const rule of all(t, 'AWS::EC2::SecurityGroupIngress')) assert.ok(rule.SourceSecurityGroupId && !rule.CidrIp);
    for (const group of all(t, 'AWS::EC2::SecurityGroup')) assert.ok(!group.SecurityGroupIngress, 'no ingress by address');
  });
  test(`${name}: connections are encrypted`, () => {
    for (const f of Object.values(functions(t))) {
      assert.match(JSON.stringify(f.Environment.Variables.DATABASE_URL), /ssl-mode=REQUIRED/);
      const canonical = f.Environment.Variables.CANONICAL_STORE;
      if (canonical) assert.match(JSON.stringify(canonical), /rediss:\/\//);
      for (const [variable, value] of Object.entries(f.Environment.Variables)) {
        if (typeof value === 'string') assert.doesNotMatch(value, /^http:/, variable);
      }
    }
  });
  test(`${name}: no function's environment holds a secret or a name it does not read`, () => {
    const found = functions(t);
    assert.deepEqual(Object.keys(found).sort(), [...FUNCTIONS].sort());
    for (const key of FUNCTIONS) {
      const variables = found[key].Environment.Variables as Record<string, unknown>;
      for (const variable of Object.keys(variables)) {
        // Databases have variables that their DATA_SOURCES file names.
        const named = key === 'chat' && Object.keys(c.databaseUrlSecrets).some((v) => variable === `${v}_SECRET_ARN`);
        assert.ok(named || ENVIRONMENT[key].includes(variable) || /^(RUST|AWS)_/.test(variable), `${key}: ${variable}`);
      }
      assert.doesNotMatch(JSON.stringify(variables), /resolve:secretsmanager/);
      assert.ok(variables.DATABASE_SECRET_ARN);
    }
    for (const key of ['chat', 'api']) assert.equal(found[key].Environment.Variables.MODEL_API_KEY_SECRET_ARN, c.model.secretArn);
  });
  test(`${name}: each function reads exactly its secrets`, () => {
    for (const key of FUNCTIONS) {
      const read = rights(t, key).filter((s) => [s.Action].flat().includes('secretsmanager:GetSecretValue')).flatMap((s) => [s.Resource].flat());
      const keys = key === 'maintenance' ? [] : [c.model, ...(c.fallback ? [c.fallback] : [])].map((p) => p.secretArn);
      if (key === 'chat') keys.push(...Object.values(c.databaseUrlSecrets));
      assert.deepEqual(read.filter((r) => typeof r === 'string').sort(), keys.sort(), key);
      assert.equal(read.filter((r) => typeof r !== 'string').length, 1, `${key}: the database's secret`);
    }
    assert.ok(statements(t).every((s) => [s.Action].flat().every((a: string) => !a.startsWith('secretsmanager:') || a === 'secretsmanager:GetSecretValue')));
    assert.ok(rights(t, 'maintenance').every((s) => ![s.Action].flat().some((a: string) => a.startsWith('dynamodb:'))));
  });
  test(`${name}: callers`, () => {
    const { AUTH_MODE, ALLOW_ANONYMOUS } = functions(t).chat.Environment.Variables;
    assert.equal(AUTH_MODE, c.auth.mode);
    assert.equal(ALLOW_ANONYMOUS, undefined);
    for (const m of all(t, 'AWS::ApiGateway::Method')) assert.equal(m.AuthorizationType, 'NONE');
  });
  test(`${name}: only chat streams, and times end from the inside out`, () => {
    const methods = all(t, 'AWS::ApiGateway::Method');
    const streams = methods.filter((m) => m.Integration.ResponseTransferMode === 'STREAM');
    assert.equal(streams.length, 1);
    assert.match(JSON.stringify(streams[0].Integration.Uri), /response-streaming-invocations/);
    const { chat, api } = functions(t);
    assert.ok(chat.Timeout >= Number(chat.Environment.Variables.RUN_TIMEOUT_SECONDS) + 15);
    assert.ok(chat.Timeout * 1000 < streams[0].Integration.TimeoutInMillis && streams[0].Integration.TimeoutInMillis <= 900_000);
    assert.ok(api.Timeout < 29);
  });
  test(`${name}: no wildcard without a reason`, () => {
    for (const s of statements(t)) {
      const doing = [s.Action].flat() as string[];
      assert.ok(doing.every((a) => !a.includes('*')), doing.join());
      for (const resource of [s.Resource].flat().map((r) => JSON.stringify(r)).filter((r) => r.includes('*'))) {
        assert.ok(doing.every((a) => WILDCARDS.some((w) => w.actions.includes(a) && w.resource.test(resource))), `${doing.join()} on ${resource}`);
      }
    }
    for (const p of all(t, 'AWS::SNS::TopicPolicy').flatMap((p) => p.PolicyDocument.Statement)) {
      assert.ok(p.Effect === 'Deny' || JSON.stringify(p.Principal) !== '{"AWS":"*"}', 'nobody outside may publish');
    }
  });
}
test('with iam, every method wants a signature and the functions see one caller', () => {
  const t = template({ ...example('smallest'), auth: { mode: 'iam' } });
  for (const m of all(t, 'AWS::ApiGateway::Method')) assert.equal(m.AuthorizationType, 'AWS_IAM');
  const { AUTH_MODE, ALLOW_ANONYMOUS } = functions(t).api.Environment.Variables;
  assert.deepEqual([AUTH_MODE, ALLOW_ANONYMOUS], ['none', 'true']);
});
test('with oidc, the functions know issuer and audience', () => {
  const { OIDC_ISSUER, OIDC_AUDIENCE } = functions(profile('production')).api.Environment.Variables;
  assert.deepEqual([OIDC_ISSUER, OIDC_AUDIENCE], ['https://login.example.com/', 'superbiz']);
});
