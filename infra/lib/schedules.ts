// What the maintenance function does by the clock: stale runs are ended, old runs deleted.
import { Duration, aws_events as events, aws_events_targets as targets } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config } from './config';
import { Functions } from './functions';

export class Schedules extends Construct {
  constructor(scope: Construct, id: string, c: Config, functions: Functions) {
    super(scope, id);
    const every = (name: string, task: string, schedule: events.Schedule) => new events.Rule(this, name, {
      schedule, description: `superbiz-${c.stage}: ${task}`,
      // A task that failed is due again soon enough: one more try, and none that comes late.
      targets: [new targets.LambdaFunction(functions.maintenance, { event: events.RuleTargetInput.fromObject({ task }), retryAttempts: 1, maxEventAge: Duration.minutes(5) })],
    });
    every('Sweep', 'sweep', events.Schedule.rate(Duration.minutes(c.sweepMinutes)));
    every('Retain', 'retain', events.Schedule.cron({ minute: '17', hour: '3' }));
  }
}
