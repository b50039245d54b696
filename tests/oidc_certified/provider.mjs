// The certified `oidc-provider` of npm on loopback, for tests/adapters/test_oidc_certified.py.
// Arguments: the folder of a node project that has the package, a client id and its secret.
// A test plays the person and the operator by POST /test/approve?user_code=, /test/deny?user_code=, /test/disable.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [project, clientId, clientSecret] = process.argv.slice(2);
const entry = pathToFileURL(join(project, 'node_modules', 'oidc-provider', 'lib', 'index.js'));
const { default: Provider } = await import(entry.href);

const server = createServer((request, response) => handle(request, response));
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [{
    client_id: clientId,
    client_secret: clientSecret,
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    redirect_uris: [],
    response_types: [],
  }],
  features: {
    deviceFlow: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    revocation: { enabled: true },
  },
  findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
});
const grants = [];
const standard = provider.callback();

async function approve(code) {
  const grant = new provider.Grant({ accountId: 'alice', clientId });
  grant.addOIDCScope('openid offline_access');
  const grantId = await grant.save();
  grants.push(grantId);
  Object.assign(code, {
    accountId: 'alice', authTime: Math.floor(Date.now() / 1000), grantId, scope: code.params.scope,
  });
  await code.save();
}

async function deny(code) {
  Object.assign(code, { error: 'access_denied', errorDescription: 'the person said no' });
  await code.save();
}

async function disable() {
  for (const id of grants) await (await provider.Grant.find(id)).destroy();
}

async function handle(request, response) {
  const { pathname, searchParams } = new URL(request.url, issuer);
  if (!pathname.startsWith('/test/')) {
    await standard(request, response);
    return;
  }
  if (pathname === '/test/disable') {
    await disable();
  } else {
    const userCode = searchParams.get('user_code').replace(/\W/g, '');
    const code = await provider.DeviceCode.findByUserCode(userCode, { ignoreExpiration: true });
    await (pathname === '/test/approve' ? approve(code) : deny(code));
  }
  response.end();
}

process.stdout.write(`${issuer}\n`);
