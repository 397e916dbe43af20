// The whole deployment.
import { Stack, StackProps } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config, checked } from './config';
import { Data } from './data';
import { Functions } from './functions';
import { Gateway } from './gateway';
import { Migrations } from './migrations';
import { Operations } from './operations';
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
    new Operations(this, 'Operations', c, data, functions, gateway);
  }
}
