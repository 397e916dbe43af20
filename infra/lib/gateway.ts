// The REST API: /api/chat streams from the chat function, all else goes to the api function, both through the alias `live`.
import { CfnOutput, Duration, RemovalPolicy, aws_apigateway as gw, aws_lambda as lambda, aws_logs as logs } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config } from './config';
import { AFTER_FUNCTION, AFTER_RUN, Functions } from './functions';

/** One line for each request: no query, no header, no body. */
const ACCESS = {
  request_id: '$context.requestId', time: '$context.requestTime', ip: '$context.identity.sourceIp', method: '$context.httpMethod', path: '$context.path',
  status: '$context.status', bytes: '$context.responseLength', latency_ms: '$context.responseLatency', function_ms: '$context.integrationLatency',
  error: '$context.error.responseType',
};

export class Gateway extends Construct {
  readonly rest: gw.RestApi;
  readonly aliases: lambda.Alias[];

  constructor(scope: Construct, id: string, c: Config, functions: Functions) {
    super(scope, id);
    const authorizationType = c.auth.mode === 'iam' ? gw.AuthorizationType.IAM : gw.AuthorizationType.NONE;
    const alias = (name: string, f: lambda.Function) => new lambda.Alias(this, name, { aliasName: 'live', version: f.currentVersion });
    const chat = alias('ChatLive', functions.chat);
    const api = alias('ApiLive', functions.api);
    this.aliases = [chat, api];
    const access = new logs.LogGroup(this, 'AccessLog', {
      logGroupName: `/superbiz/${c.stage}/access`, retention: c.logRetentionDays,
      removalPolicy: c.production ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    this.rest = new gw.RestApi(this, 'Rest', {
      restApiName: `superbiz-${c.stage}`, defaultMethodOptions: { authorizationType }, defaultIntegration: new gw.LambdaIntegration(api), cloudWatchRole: true,
      deployOptions: {
        stageName: c.stage, throttlingRateLimit: c.requestsPerSecond, throttlingBurstLimit: c.requestsPerSecond * 2, tracingEnabled: true, metricsEnabled: true,
        accessLogDestination: new gw.LogGroupLogDestination(access), accessLogFormat: gw.AccessLogFormat.custom(JSON.stringify(ACCESS)),
      },
    });
    this.rest.root.addMethod('ANY');
    this.rest.root.addProxy();
    const below = this.rest.root.addResource('api');
    below.addMethod('ANY');
    below.addProxy();
    const path = below.addResource('chat');
    // The api function says of other methods that they are not allowed.
    path.addMethod('ANY');
    path.addMethod('POST', new gw.LambdaIntegration(chat, {
      responseTransferMode: gw.ResponseTransferMode.STREAM, timeout: Duration.seconds(c.runTimeoutSeconds + AFTER_RUN + AFTER_FUNCTION),
    }));
    new CfnOutput(this, 'Url', { value: this.rest.url }).overrideLogicalId('Url');
    new CfnOutput(this, 'MaintenanceFunction', { value: functions.maintenance.functionName }).overrideLogicalId('MaintenanceFunction');
  }
}
