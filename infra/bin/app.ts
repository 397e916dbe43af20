// Synthesises the stack of the configuration file named by SUPERBIZ_CONFIG (JSON, the fields of lib/config.ts).
import { App } from 'aws-cdk-lib';
import { load } from '../lib/config';
import { SuperbizStack } from '../lib/stack';

const file = process.env.SUPERBIZ_CONFIG;
if (!file) throw new Error('SUPERBIZ_CONFIG is not set; name a JSON file with the fields of infra/lib/config.ts');
const config = load(file);
const app = new App();
new SuperbizStack(app, `superbiz-${config.stage}`, config);
app.synth();
