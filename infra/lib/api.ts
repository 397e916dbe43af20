// The three functions, what each may do, and the REST API in front of two of them.
import { Duration, SecretValue, Stack, aws_apigateway as gw, aws_events as events, aws_events_targets as targets, aws_lambda as lambda, aws_logs as logs } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { API_CONCURRENCY, Config } from './config';
import { Data } from './data';

export class Api extends Construct {
  readonly chat: lambda.Function;
  readonly api: lambda.Function;
  readonly maintenance: lambda.Function;
  readonly rest: gw.RestApi;

  constructor(scope: Construct, id: string, c: Config, data: Data) {
    super(scope, id);
    const stores = {
      DATABASE_URL: data.databaseUrl, CANONICAL_STORE: data.canonicalStore, RUN_CONTROL_TABLE: data.table.tableName,
      RUN_TIMEOUT_SECONDS: String(c.runTimeoutSeconds),
    };
    // The gateway admits signed (IAM) callers only, which is why the functions may leave it at that.
    const callers = { AUTH_MODE: 'none', ALLOW_ANONYMOUS: 'true' };
    const make = (name: string, timeout: number, concurrency: number, environment: Record<string, string>) =>
      new lambda.Function(this, name, {
        code: lambda.Code.fromAsset(`${c.packages}/${name.toLowerCase()}/bootstrap.zip`), handler: 'bootstrap',
        runtime: lambda.Runtime.PROVIDED_AL2023, architecture: lambda.Architecture.ARM_64, memorySize: 256,
        timeout: Duration.seconds(timeout), reservedConcurrentExecutions: concurrency, environment,
        vpc: data.vpc, securityGroups: [data.functions], tracing: lambda.Tracing.ACTIVE,
        logGroup: new logs.LogGroup(this, `${name}Log`, { retention: logs.RetentionDays.ONE_MONTH }),
      });
    // This version reads the key from its environment only; the reference is resolved at deploy, the template holds no key.
    const key = SecretValue.secretsManager(c.modelSecretArn).unsafeUnwrap();
    this.chat = make('Chat', c.runTimeoutSeconds + 20, c.chatConcurrency, {
      ...stores, ...callers, MODEL_BASE_URL: c.modelBaseUrl, MODEL_NAME: c.modelName, MODEL_API_KEY: key,
    });
    this.api = make('Api', 29, API_CONCURRENCY, { ...stores, ...callers });
    this.maintenance = make('Maintenance', 300, 1, stores);
    for (const f of [this.chat, this.api, this.maintenance]) {
      data.table.grant(f, 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:ConditionCheckItem');
    }
    const stack = Stack.of(this);
    if (c.logGroups.length > 0) {
      this.chat.addToRolePolicy(new PolicyStatement({
        actions: ['logs:StartQuery'],
        resources: c.logGroups.map((g) => `arn:${stack.partition}:logs:${stack.region}:${stack.account}:log-group:${g}:*`),
      }));
      // AWS knows no resource for these two: a query is named by its id alone.
      this.chat.addToRolePolicy(new PolicyStatement({ actions: ['logs:GetQueryResults', 'logs:StopQuery'], resources: ['*'] }));
    }
    new events.Rule(this, 'Sweep', {
      schedule: events.Schedule.rate(Duration.minutes(5)),
      targets: [new targets.LambdaFunction(this.maintenance, { event: events.RuleTargetInput.fromObject({ task: 'sweep' }) })],
    });
    this.rest = new gw.RestApi(this, 'Rest', {
      restApiName: `superbiz-${c.stage}`, deployOptions: { stageName: c.stage, throttlingRateLimit: 20, throttlingBurstLimit: 40, tracingEnabled: true },
      defaultMethodOptions: { authorizationType: gw.AuthorizationType.IAM },
    });
    const alias = new lambda.Alias(this, 'Live', { aliasName: 'live', version: this.chat.currentVersion });
    const buffered = new gw.LambdaIntegration(this.api);
    this.rest.root.addMethod('GET', buffered);
    this.rest.root.addProxy({ defaultIntegration: buffered });
    const api = this.rest.root.addResource('api');
    api.addProxy({ defaultIntegration: buffered });
    api.addResource('chat').addMethod('POST', new gw.LambdaIntegration(alias, {
      responseTransferMode: gw.ResponseTransferMode.STREAM, timeout: Duration.seconds(c.runTimeoutSeconds + 20),
    }));
  }
}
