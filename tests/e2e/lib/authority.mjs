// A real authorization server (npm oidc-provider: rotation, registration, resource indicators) and a real MCP server
// behind its tokens, whose tools differ from one account to the next.
import { randomUUID } from 'node:crypto';
import express from 'express';
import Provider from 'oidc-provider';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';

/** Serves an app on a port of its own. */
async function served(app) {
  const listener = app.listen(0, '127.0.0.1');
  await new Promise((done) => listener.once('listening', done));
  const close = () => (listener.closeAllConnections(), new Promise((done) => listener.close(done)));
  return { url: `http://127.0.0.1:${listener.address().port}`, close };
}

/**
 * The authorization server. Whoever comes is the account that its `x-account` header names, and agrees to everything.
 * `clients` are registered before; others register themselves.
 */
export async function authorizationServer({ clients = [] } = {}) {
  const app = express();
  const { url, close } = await served(app);
  const requests = [];
  const provider = new Provider(url, {
    clients,
    cookies: { keys: ['fixture'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    scopes: ['openid', 'offline_access', 'tools', 'more'],
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    ttl: { AccessToken: 3600, RefreshToken: 86_400, Grant: 86_400, Session: 86_400, Interaction: 600, AuthorizationCode: 60 },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({ scope: 'tools more', audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: 3600 }),
      },
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path === '/token' || ctx.path === '/reg') {
      requests.push({ path: ctx.path, status: ctx.status, params: { ...ctx.oidc?.params }, body: ctx.body });
    }
  });
  app.get('/interaction/:uid', async (request, response) => {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    const account = String(request.headers['x-account'] ?? 'alice');
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: account } });
    }
    const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(String(params.scope ?? ''));
    if (params.resource) grant.addResourceScope(String(params.resource), String(params.scope ?? ''));
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  });
  app.use(provider.callback());
  return {
    url,
    close,
    provider,
    /** The token requests and registrations so far. */
    requests,
    tokens: (kind) => requests.filter(({ path, params }) => path === '/token' && params.grant_type === kind),
    /** The account and scopes of an access token for a resource; `undefined` when it is good no longer. */
    async check(token, resource) {
      const found = await provider.AccessToken.find(token);
      if (!found?.isValid || found.aud !== resource) return undefined;
      return { account: found.accountId, scopes: [...found.scopes], grantId: found.grantId, token: found };
    },
  };
}

/** The MCP server: `whoami`, and a tool that only the account that is served has. */
export async function protectedServer(authority, { scopes = ['tools'] } = {}) {
  const app = express();
  const { url, close } = await served(app);
  const resource = `${url}/mcp`;
  const seen = [];
  const refused = new Set();
  const sessions = new Map();
  const verifier = {
    async verifyAccessToken(token) {
      seen.push(token);
      const good = refused.has(token) ? undefined : await authority.check(token, resource);
      if (!good) throw new InvalidTokenError('the token is not good');
      return { token, clientId: 'x', scopes: good.scopes, expiresAt: Math.floor(Date.now() / 1000) + 60, extra: { account: good.account } };
    },
  };
  app.get('/.well-known/oauth-protected-resource/mcp', (_, response) =>
    response.json({ resource, authorization_servers: [authority.url], scopes_supported: scopes }));
  const bearer = requireBearerAuth({ verifier, resourceMetadataUrl: `${url}/.well-known/oauth-protected-resource/mcp` });
  app.use('/mcp', bearer, express.json(), async (request, response) => {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (!transport) {
      if (id || request.body?.method !== 'initialize') return response.status(id ? 404 : 400).end();
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void sessions.set(session, transport),
        onsessionclosed: (session) => void sessions.delete(session),
      });
      await toolsOf(request.auth.extra.account).connect(transport);
    }
    return transport.handleRequest(request, response, request.body);
  });
  return {
    url: resource,
    close,
    /** Every token that came. */
    seen,
    sessions,
    /** From now on this token is good no longer, whatever its expiry says. */
    refuse: (token) => refused.add(token),
  };
}

function toolsOf(account) {
  const server = new McpServer({ name: 'protected', version: '1' });
  const said = (text) => ({ content: [{ type: 'text', text }] });
  server.registerTool('whoami', { description: 'Says whose token came', inputSchema: {} }, (_, { authInfo }) => said(authInfo.extra.account));
  server.registerTool(`only_${account}`, { description: `What only ${account} has`, inputSchema: {} }, () => said(`for ${account}`));
  return server;
}
