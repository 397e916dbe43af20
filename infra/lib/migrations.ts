// The deploy step that applies migrations. It runs once for each new maintenance package, after the database is there and before
// anything serves the new code; if it fails, the deploy fails and the aliases stay where they were.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CustomResource, Duration, RemovalPolicy, aws_iam as iam, aws_lambda as lambda, aws_logs as logs, custom_resources as cr } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config, INFRA, digest, zip } from './config';
import { Data } from './data';
import { Functions } from './functions';

/** Two attempts of full length; the framework that waits for it ends after 900. */
export const MIGRATION_TIMEOUT = 840;

export class Migrations extends Construct {
  readonly step: CustomResource;

  constructor(scope: Construct, id: string, c: Config, data: Data, functions: Functions) {
    super(scope, id);
    const log = (name: string) => new logs.LogGroup(this, name, { retention: c.logRetentionDays, removalPolicy: RemovalPolicy.DESTROY });
    const role = (name: string, group: logs.LogGroup) => {
      const made = new iam.Role(this, name, { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
      group.grantWrite(made);
      return made;
    };
    const logGroup = log('Log');
    const handler = new lambda.Function(this, 'Handler', {
      code: lambda.Code.fromAsset(join(INFRA, 'lib/migrate')), handler: 'index.handler', runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64, timeout: Duration.seconds(MIGRATION_TIMEOUT), logGroup, role: role('Role', logGroup),
    });
    handler.addToRolePolicy(new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [functions.maintenance.functionArn] }));
    const framework = log('FrameworkLog');
    const provider = new cr.Provider(this, 'Provider', { onEventHandler: handler, logGroup: framework, frameworkOnEventRole: role('FrameworkRole', framework) });
    // A new package is a new resource, not a change of the old one: to roll back is then to forget the new one, which runs nothing.
    const version = digest(c.database, readFileSync(zip(c, 'maintenance'))).slice(0, 12);
    this.step = new CustomResource(this, `Step${version}`, {
      serviceToken: provider.serviceToken, resourceType: 'Custom::Migrations', properties: { FunctionName: functions.maintenance.functionName },
    });
    // The network too: the secret is read through it.
    this.step.node.addDependency(data, functions);
  }
}
