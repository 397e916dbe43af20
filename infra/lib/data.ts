// The network and the three stores: private, encrypted, reachable by the functions only.
import { CfnOutput, Duration, RemovalPolicy, aws_dynamodb as ddb, aws_ec2 as ec2, aws_elasticache as cache, aws_rds as rds } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config } from './config';

export class Data extends Construct {
  readonly vpc: ec2.Vpc;
  readonly functions: ec2.SecurityGroup;
  readonly table: ddb.Table;
  readonly databaseUrl: string;
  readonly canonicalStore: string;

  constructor(scope: Construct, id: string, c: Config) {
    super(scope, id);
    const removalPolicy = c.production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    // The model's provider is outside, so one NAT is needed; DynamoDB's gateway endpoint costs nothing.
    this.vpc = new ec2.Vpc(this, 'Vpc', {
      maxAzs: 2, natGateways: c.production ? 2 : 1, restrictDefaultSecurityGroup: false,
      gatewayEndpoints: { DynamoDb: { service: ec2.GatewayVpcEndpointAwsService.DYNAMODB } },
    });
    this.functions = new ec2.SecurityGroup(this, 'Functions', { vpc: this.vpc });
    const stores = new ec2.SecurityGroup(this, 'Stores', { vpc: this.vpc, allowAllOutbound: false });
    stores.addIngressRule(this.functions, ec2.Port.tcp(3306));
    stores.addIngressRule(this.functions, ec2.Port.tcpRange(6379, 6380));

    this.table = new ddb.Table(this, 'RunControl', {
      partitionKey: { name: 'pk', type: ddb.AttributeType.STRING }, billingMode: ddb.BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: 'expires_at', pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true }, removalPolicy,
    });
    const engine = rds.DatabaseInstanceEngine.mysql({ version: rds.MysqlEngineVersion.of('8.4.8', '8.4') });
    const database = new rds.DatabaseInstance(this, 'Ledger', {
      engine, vpc: this.vpc, vpcSubnets: { subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS }, securityGroups: [stores],
      instanceType: ec2.InstanceType.of(ec2.InstanceClass.T4G, c.production ? ec2.InstanceSize.MEDIUM : ec2.InstanceSize.MICRO),
      // The generated password stands in a URL, so it must have no character that a URL would escape.
      credentials: rds.Credentials.fromGeneratedSecret('superbiz', { excludeCharacters: ' %+~`#$&*()|[]{}:;<>?!\'/@"\\^=,' }),
      databaseName: 'superbiz', storageEncrypted: true, multiAz: c.production, backupRetention: Duration.days(c.production ? 14 : 1),
      deletionProtection: c.production, removalPolicy,
      parameters: { require_secure_transport: 'ON', max_connections: String(c.maxConnections) },
    });
    const password = database.secret!.secretValueFromJson('password').unsafeUnwrap();
    this.databaseUrl = `mysql://superbiz:${password}@${database.dbInstanceEndpointAddress}:3306/superbiz?ssl-mode=REQUIRED`;
    const valkey = new cache.CfnServerlessCache(this, 'Canonical', {
      engine: 'valkey', serverlessCacheName: `superbiz-${c.stage}`, securityGroupIds: [stores.securityGroupId],
      subnetIds: this.vpc.privateSubnets.map((s) => s.subnetId),
    });
    this.canonicalStore = `rediss://${valkey.attrEndpointAddress}:${valkey.attrEndpointPort}`;
    new CfnOutput(this, 'Table', { value: this.table.tableName });
  }
}
