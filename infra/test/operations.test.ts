// What wakes somebody says what to do, and what is asked for a picture is there.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NAMESPACE } from '../lib/operations';
import { Json, PROFILES, all, example, functions, profile } from './templates';

const RUNBOOK = /^.+\. Runbook: (infra\/runbooks\/([a-z0-9-]+)\.md)$/;
const METRICS = ['RunsEnded', 'Fallbacks', 'RunDurationMs', 'InputTokens', 'OutputTokens', 'CostUsd', 'ToolFailures', 'AuditFailures', 'BudgetExhausted', 'StaleRunsSwept'];
const used = new Set<string>();

for (const name of PROFILES) {
  const t = profile(name);
  const alarms = all(t, 'AWS::CloudWatch::Alarm');
  test(`${name}: every alarm names its runbook, which exists, and tells somebody`, () => {
    assert.ok(alarms.length >= 20);
    for (const a of alarms) {
      const [, path, id] = RUNBOOK.exec(a.AlarmDescription) ?? assert.fail(a.AlarmDescription);
      assert.ok(existsSync(join('..', path!)), path);
      assert.equal(a.AlarmName, `superbiz-${example(name).stage}-${id}`);
      assert.equal(a.AlarmActions.length, 1);
      used.add(id!);
    }
  });
  test(`${name}: what the runs report is on the dashboard or wakes somebody`, () => {
    const boards = JSON.stringify(all(t, 'AWS::CloudWatch::Dashboard'));
    for (const metric of METRICS) assert.ok(boards.includes(metric), metric);
    for (const metric of ['RunsEnded', 'CostUsd', 'ToolFailures', 'AuditFailures', 'BudgetExhausted', 'StaleRunsSwept', 'RunDurationMs', 'Fallbacks']) {
      const heard = alarms.some((a) => [a, ...(a.Metrics ?? []).map((m: Json) => m.MetricStat?.Metric ?? {})].some((m) => m.MetricName === metric && m.Namespace === NAMESPACE));
      assert.ok(heard, metric);
    }
  });
  test(`${name}: periods are what CloudWatch accepts`, () => {
    for (const a of alarms) {
      const periods = [a.Period, ...(a.Metrics ?? []).map((m: Json) => m.MetricStat?.Period)].filter(Boolean) as number[];
      for (const p of periods) assert.ok(p % 60 === 0 && p * a.EvaluationPeriods <= 86_400, a.AlarmName);
    }
  });
  test(`${name}: every log ends some day, and requests are logged without what they say`, () => {
    for (const group of all(t, 'AWS::Logs::LogGroup')) assert.ok(group.RetentionInDays > 0);
    for (const f of Object.values(functions(t))) assert.ok(f.LoggingConfig.LogGroup);
    const [stage] = all(t, 'AWS::ApiGateway::Stage');
    assert.ok(stage.AccessLogSetting.DestinationArn);
    assert.doesNotMatch(stage.AccessLogSetting.Format, /requestOverride|querystring|header|authorizer|apiKey/i);
    assert.equal(stage.MethodSettings[0].ThrottlingRateLimit, example(name).requestsPerSecond);
    assert.notEqual(stage.MethodSettings[0].DataTraceEnabled, true);
  });
}
test('every runbook belongs to an alarm and has its four parts', () => {
  const files = readdirSync('runbooks').map((f) => f.replace(/\.md$/, '')).sort();
  assert.deepEqual(files, [...used].sort());
  for (const file of files) {
    const text = readFileSync(join('runbooks', `${file}.md`), 'utf8');
    const parts = [...text.matchAll(/^## (.+)$/gm)].map((m) => m[1]);
    assert.deepEqual(parts, ['What it means', 'First checks', 'Likely causes', 'Ending it'], file);
    assert.match(text.split('## First checks')[1]!.split('## Likely')[0]!, /^ {7}(aws|curl) /m, `${file} has commands`);
  }
});
