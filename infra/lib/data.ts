// The network and the three stores: private, encrypted, reachable by the functions only.
import { CfnOutput, Duration, RemovalPolicy, aws_dynamodb as ddb, aws_ec2 as ec2, aws_elasticache as cache, aws_rds as rds, aws_secretsmanager as secrets } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config } from './config';

export class Data extends Construct {
  readonly vpc: ec2.Vpc;
  readonly functions: ec2.SecurityGroup;
  readonly table: ddb.Table;
  readonly database: rds.DatabaseInstance | rds.DatabaseCluster;
  /** RDS JSON with username and password. */
  readonly databaseSecret: secrets.ISecret;
  /** Without credentials. */
  readonly databaseUrl: string;
  readonly canonicalStore: string;
  readonly cacheName: string;

  constructor(scope: Construct, id: string, c: Config) {
    super(scope, id);
    const removalPolicy = c.production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    // The model's provider is outside, so one NAT is needed; DynamoDB's gateway endpoint costs nothing.
    this.vpc = new ec2.Vpc(this, 'Vpc', {
      maxAzs: 2, natGateways: c.production ? 2 : 1, restrictDefaultSecurityGroup: false,
      gatewayEndpoints: { DynamoDb: { service: ec2.GatewayVpcEndpointAwsService.DYNAMODB } },
    });
    if (c.production) this.vpc.addFlowLog('FlowLog', { trafficType: ec2.FlowLogTrafficType.REJECT });
    this.functions = new ec2.SecurityGroup(this, 'Functions', { vpc: this.vpc, description: 'The functions' });
    const stores = new ec2.SecurityGroup(this, 'Stores', { vpc: this.vpc, allowAllOutbound: false, description: 'Database and canonical store' });
    stores.addIngressRule(this.functions, ec2.Port.tcp(3306), 'MySQL from the functions');
    stores.addIngressRule(this.functions, ec2.Port.tcpRange(6379, 6380), 'Valkey from the functions');

    this.table = new ddb.Table(this, 'RunControl', {
      partitionKey: { name: 'pk', type: ddb.AttributeType.STRING }, billingMode: ddb.BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: 'expires_at', pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true }, removalPolicy,
      deletionProtection: c.production,
    });
    const place = { vpc: this.vpc, vpcSubnets: { subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS }, securityGroups: [stores] };
    const name = 'superbiz';
    const parameters = { require_secure_transport: 'ON', max_connections: String(c.maxConnections) };
    const safety = { storageEncrypted: true, deletionProtection: c.production, removalPolicy };
    // The functions read the secret as JSON, so no character needs to be left out for them; RDS itself refuses these four.
    const credentials = rds.Credentials.fromGeneratedSecret(name, { excludeCharacters: '"@/\\' });
    if (c.database === 'serverless') {
      const engine = rds.DatabaseClusterEngine.auroraMysql({ version: rds.AuroraMysqlEngineVersion.of('8.0.mysql_aurora.3.10.1', '8.0') });
      const cluster = new rds.DatabaseCluster(this, 'Ledger', {
        ...place, ...safety, engine, credentials, defaultDatabaseName: name, backup: { retention: Duration.days(c.production ? 14 : 1) },
        writer: rds.ClusterInstance.serverlessV2('Writer', { publiclyAccessible: false }),
        readers: c.production ? [rds.ClusterInstance.serverlessV2('Standby', { publiclyAccessible: false, scaleWithWriter: true })] : [],
        serverlessV2MinCapacity: c.minCapacity, serverlessV2MaxCapacity: c.maxCapacity,
        // Idle connections of sleeping functions would keep the database awake.
        parameters: { ...parameters, wait_timeout: '300' },
      });
      this.database = cluster;
      this.databaseSecret = cluster.secret!;
      this.databaseUrl = `mysql://${cluster.clusterEndpoint.hostname}:3306/${name}?ssl-mode=REQUIRED`;
    } else {
      const engine = rds.DatabaseInstanceEngine.mysql({ version: rds.MysqlEngineVersion.of('8.4.8', '8.4') });
      const instance = new rds.DatabaseInstance(this, 'Ledger', {
        ...place, ...safety, engine, credentials, parameters, databaseName: name, multiAz: c.production, publiclyAccessible: false,
        instanceType: ec2.InstanceType.of(ec2.InstanceClass.T4G, c.production ? ec2.InstanceSize.MEDIUM : ec2.InstanceSize.MICRO),
        allocatedStorage: 20, maxAllocatedStorage: 100, storageType: rds.StorageType.GP3, backupRetention: Duration.days(c.production ? 14 : 1),
      });
      this.database = instance;
      this.databaseSecret = instance.secret!;
      this.databaseUrl = `mysql://${instance.dbInstanceEndpointAddress}:3306/${name}?ssl-mode=REQUIRED`;
    }
    const valkey = new cache.CfnServerlessCache(this, 'Canonical', {
      engine: 'valkey', serverlessCacheName: `superbiz-${c.stage}`, securityGroupIds: [stores.securityGroupId],
      subnetIds: this.vpc.privateSubnets.map((s) => s.subnetId),
    });
    this.cacheName = `superbiz-${c.stage}`;
    this.canonicalStore = `rediss://${valkey.attrEndpointAddress}:${valkey.attrEndpointPort}`;
    new CfnOutput(this, 'Table', { value: this.table.tableName }).overrideLogicalId('Table');
  }
}
