// What wakes somebody, and what they look at. Every alarm's id is the name of its runbook in runbooks/.
import { Duration, aws_cloudwatch as cw, aws_cloudwatch_actions as actions, aws_logs as logs, aws_rds as rds, aws_sns as sns, aws_sns_subscriptions as subs } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config, FUNCTIONS } from './config';
import { Data } from './data';
import { Functions } from './functions';
import { Gateway } from './gateway';

/** The namespace of the metrics that the functions write into their logs (embedded metric format). */
export const NAMESPACE = 'SuperBizAgent';
export const OUTCOMES = ['SUCCESS', 'FALLBACK', 'FAILED'];
export const REASONS = ['EVIDENCE_VALIDATION_FAILED', 'SEMANTIC_UNSUPPORTED', 'SEMANTIC_UNAVAILABLE'];
export const TOOLS = ['lookup_knowledge', 'query_logs', 'query_mysql'];

const FIVE = Duration.minutes(5);

interface Rule {
  /** What happened, in a few words: the first line of a message at night. */
  says: string;
  metric: cw.IMetric;
  from: number;
  periods?: number;
  /** Alarm when it is below `from`. */
  below?: boolean;
  /** Alarm when nothing is heard. */
  silence?: boolean;
}

const ours = (metricName: string, statistic: string, period = FIVE, dimensionsMap?: Record<string, string>) =>
  new cw.Metric({ namespace: NAMESPACE, metricName, statistic, period, ...(dimensionsMap ? { dimensionsMap } : {}) });

/** Several metrics in one figure; what was not reported counts as nothing. */
const sum = (label: string, metrics: cw.IMetric[], period = FIVE) => new cw.MathExpression({
  label, period, expression: metrics.map((_, i) => `FILL(m${i}, 0)`).join(' + '), usingMetrics: Object.fromEntries(metrics.map((m, i) => [`m${i}`, m])),
});

export class Operations extends Construct {
  constructor(scope: Construct, id: string, c: Config, data: Data, functions: Functions, gateway: Gateway) {
    super(scope, id);
    const topic = new sns.Topic(this, 'Topic', { enforceSSL: true, displayName: `superbiz-${c.stage}` });
    if (c.alarmEmail) topic.addSubscription(new subs.EmailSubscription(c.alarmEmail));
    const rules = { ...frontRules(c, functions, gateway), ...runRules(c), ...storeRules(c, data), ...this.logRules(c, functions) };
    for (const [name, rule] of Object.entries(rules)) {
      new cw.Alarm(this, name, {
        alarmName: `superbiz-${c.stage}-${name}`, alarmDescription: `${rule.says}. Runbook: infra/runbooks/${name}.md`,
        metric: rule.metric, threshold: rule.from, evaluationPeriods: rule.periods ?? 2,
        comparisonOperator: rule.below ? cw.ComparisonOperator.LESS_THAN_THRESHOLD : cw.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: rule.silence ? cw.TreatMissingData.BREACHING : cw.TreatMissingData.NOT_BREACHING,
      }).addAlarmAction(new actions.SnsAction(topic));
    }
    this.dashboard(c, data, functions, gateway);
  }

  /** Lines of level ERROR, counted from the functions' JSON logs. */
  private logRules(c: Config, functions: Functions): Record<string, Rule> {
    const lines = FUNCTIONS.map((key) => {
      const filter = new logs.MetricFilter(this, `${key}-error-lines`, {
        logGroup: functions.logs[key], metricNamespace: `superbiz-${c.stage}`, metricName: `${key}ErrorLines`, metricValue: '1',
        filterPattern: logs.FilterPattern.stringValue('$.level', '=', 'ERROR'),
      });
      return filter.metric({ statistic: 'Sum', period: FIVE });
    });
    return { 'error-logs': { says: 'The functions log errors', metric: sum('ERROR lines', lines), from: 5 } };
  }

  private dashboard(c: Config, data: Data, functions: Functions, gateway: Gateway): void {
    const three = [functions.chat, functions.api, functions.maintenance];
    const by = (metric: string, dimension: string, values: string[]) => values.map((v) => ours(metric, 'Sum', FIVE, { [dimension]: v }));
    const graph = (title: string, left: cw.IMetric[], right: cw.IMetric[] = []) => new cw.GraphWidget({ title, left, right, width: 8, height: 6 });
    const board = new cw.Dashboard(this, 'Dashboard', { dashboardName: `superbiz-${c.stage}`, defaultInterval: Duration.hours(6) });
    board.addWidgets(
      graph('Runs ended', by('RunsEnded', 'Outcome', OUTCOMES)),
      graph('Fallbacks by reason', by('Fallbacks', 'Reason', REASONS)),
      graph('Run duration (ms)', ['p50', 'p95', 'p99'].map((s) => ours('RunDurationMs', s))),
      graph('Tokens', [ours('InputTokens', 'Sum'), ours('OutputTokens', 'Sum')], [ours('CostUsd', 'Sum')]),
      graph('Tool failures', by('ToolFailures', 'Tool', TOOLS)),
      graph('Runs cut short or lost', ['BudgetExhausted', 'StaleRunsSwept', 'AuditFailures'].map((m) => ours(m, 'Sum'))),
      graph('Gateway', [gateway.rest.metricCount({ period: FIVE })], [gateway.rest.metricClientError({ period: FIVE }), gateway.rest.metricServerError({ period: FIVE })]),
      graph('Function errors and throttles', three.flatMap((f) => [f.metricErrors({ period: FIVE }), f.metricThrottles({ period: FIVE })])),
      graph('Environments at work', three.map((f) => f.metric('ConcurrentExecutions', { statistic: 'Maximum', period: FIVE }))),
      graph('Database', [data.database.metricDatabaseConnections({ period: FIVE, statistic: 'Maximum' })], [data.database.metricCPUUtilization({ period: FIVE })]),
      graph('Run control', ['GetItem', 'PutItem', 'TransactWriteItems'].map((o) => throttled(data, o))),
      graph('Canonical store', [cache(data, 'BytesUsedForCache', 'Maximum')], [cache(data, 'ThrottledCmds', 'Sum')]),
    );
  }
}

function frontRules(c: Config, { chat, api, maintenance }: Functions, gateway: Gateway): Record<string, Rule> {
  const period = FIVE;
  return {
    'gateway-5xx': { says: 'The gateway answers with 5xx', metric: gateway.rest.metricServerError({ period, statistic: 'Sum' }), from: 3 },
    'chat-errors': { says: 'The chat function fails', metric: chat.metricErrors({ period }), from: 3 },
    'chat-throttles': { says: 'More runs are wanted than chatConcurrency allows', metric: chat.metricThrottles({ period }), from: 1 },
    'chat-duration': { says: 'Runs take nearly all their time', metric: chat.metricDuration({ period, statistic: 'p95' }), from: c.runTimeoutSeconds * 900 },
    'api-errors': { says: 'The api function fails', metric: api.metricErrors({ period }), from: 3 },
    'api-throttles': { says: 'More requests are at work than apiConcurrency allows', metric: api.metricThrottles({ period }), from: 1 },
    'maintenance-errors': { says: 'A maintenance task fails', metric: maintenance.metricErrors({ period }), from: 1 },
    'maintenance-silent': {
      says: 'The sweep does not run', metric: maintenance.metricInvocations({ period: Duration.minutes(Math.max(15, c.sweepMinutes)), statistic: 'Sum' }), from: 1, below: true, silence: true,
    },
  };
}

function runRules(c: Config): Record<string, Rule> {
  const hour = Duration.hours(1);
  const ended = OUTCOMES.map((Outcome) => ours('RunsEnded', 'Sum', FIVE, { Outcome }));
  // A share of few runs says little, so it counts from five runs.
  const share = (label: string, of: number) => new cw.MathExpression({
    label, period: FIVE, usingMetrics: { s: ended[0]!, b: ended[1]!, f: ended[2]! },
    expression: `IF(FILL(s, 0) + FILL(b, 0) + FILL(f, 0) >= 5, 100 * FILL(${'sbf'[of]}, 0) / (FILL(s, 0) + FILL(b, 0) + FILL(f, 0)), 0)`,
  });
  return {
    'runs-failed': { says: 'A fifth of the runs or more fails', metric: share('% failed', 2), from: 20 },
    'runs-fallback': { says: 'Half of the runs or more end in a fallback', metric: share('% fallback', 1), from: 50, periods: 3 },
    'semantic-guard-unavailable': { says: 'Reports are held back because the second guard gives no answer', metric: ours('Fallbacks', 'Sum', FIVE, { Reason: 'SEMANTIC_UNAVAILABLE' }), from: 3 },
    'run-duration': { says: 'The slowest runs come near their time limit', metric: ours('RunDurationMs', 'p95'), from: c.runTimeoutSeconds * 900 },
    'cost': { says: `The model cost $${c.hourlyCostUsd} or more in an hour`, metric: ours('CostUsd', 'Sum', hour), from: c.hourlyCostUsd, periods: 1 },
    'tool-failures': { says: 'Tools of the agent fail', metric: sum('tool failures', TOOLS.map((Tool) => ours('ToolFailures', 'Sum', FIVE, { Tool }))), from: 10 },
    'audit-failures': { says: 'Steps of runs could not be recorded', metric: ours('AuditFailures', 'Sum'), from: 1, periods: 1 },
    'budget-exhausted': { says: 'Runs end because their budget is used up', metric: ours('BudgetExhausted', 'Sum'), from: 3 },
    'stale-runs': { says: 'Functions die in the middle of runs', metric: ours('StaleRunsSwept', 'Sum'), from: 3, periods: 1 },
  };
}

const throttled = (data: Data, Operation: string) => new cw.Metric({
  namespace: 'AWS/DynamoDB', metricName: 'ThrottledRequests', statistic: 'Sum', period: FIVE, dimensionsMap: { TableName: data.table.tableName, Operation },
});
const cache = (data: Data, metricName: string, statistic: string) =>
  new cw.Metric({ namespace: 'AWS/ElastiCache', metricName, statistic, period: FIVE, dimensionsMap: { clusterId: data.cacheName } });

function storeRules(c: Config, data: Data): Record<string, Rule> {
  const { database } = data;
  return {
    'database-connections': {
      says: 'Four fifths of the database\'s connections are taken', metric: database.metricDatabaseConnections({ period: FIVE, statistic: 'Maximum' }), from: Math.floor(c.maxConnections * 0.8),
    },
    'database-cpu': { says: 'The database is busy', metric: database.metricCPUUtilization({ period: FIVE }), from: 85, periods: 3 },
    ...(database instanceof rds.DatabaseInstance
      // While the storage still grows by itself (maxAllocatedStorage) there is always this much.
      ? { 'database-storage': { says: 'The database has less than 2 GiB of storage left', metric: database.metricFreeStorageSpace({ period: FIVE, statistic: 'Minimum' }), from: 2 * 1024 ** 3, below: true } }
      : {}),
    'run-control-throttles': { says: 'DynamoDB throttles run control', metric: sum('throttled', ['GetItem', 'PutItem', 'TransactWriteItems'].map((o) => throttled(data, o))), from: 1 },
    'canonical-store-throttles': { says: 'The canonical store throttles', metric: cache(data, 'ThrottledCmds', 'Sum'), from: 1 },
  };
}
