// The whole deployment, and the alarms that wake somebody. Every alarm's id is the name of its runbook.
import { Duration, Stack, StackProps, aws_cloudwatch as cw, aws_cloudwatch_actions as actions, aws_sns as sns, aws_sns_subscriptions as subs } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config, checked } from './config';
import { Data } from './data';
import { Functions } from './functions';
import { Gateway } from './gateway';
import { Migrations } from './migrations';
import { Schedules } from './schedules';

export class SuperbizStack extends Stack {
  constructor(scope: Construct, id: string, config: Config, props?: StackProps) {
    super(scope, id, props);
    const c = checked(config);
    const data = new Data(this, 'Data', c);
    const functions = new Functions(this, 'Functions', c, data);
    const gateway = new Gateway(this, 'Gateway', c, functions);
    const schedules = new Schedules(this, 'Schedules', c, functions);
    const { step } = new Migrations(this, 'Migrations', c, data, functions);
    for (const later of [...gateway.aliases, schedules]) later.node.addDependency(step);
    const topic = new sns.Topic(this, 'Alarms', { enforceSSL: true });
    if (c.alarmEmail) topic.addSubscription(new subs.EmailSubscription(c.alarmEmail));
    const alarm = (name: string, metric: cw.IMetric, threshold: number) =>
      new cw.Alarm(this, name, {
        alarmName: `superbiz-${c.stage}-${name}`, alarmDescription: `infra/runbooks/${name}.md`, metric, threshold, evaluationPeriods: 2,
        comparisonOperator: cw.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD, treatMissingData: cw.TreatMissingData.NOT_BREACHING,
      }).addAlarmAction(new actions.SnsAction(topic));
    const period = Duration.minutes(5);
    alarm('gateway-5xx', gateway.rest.metricServerError({ period, statistic: 'Sum' }), 3);
    alarm('chat-errors', functions.chat.metricErrors({ period }), 3);
    alarm('chat-throttles', functions.chat.metricThrottles({ period }), 1);
    alarm('chat-duration', functions.chat.metricDuration({ period, statistic: 'p95' }), c.runTimeoutSeconds * 900);
    alarm('maintenance-errors', functions.maintenance.metricErrors({ period }), 1);
  }
}
