// An issuer of signed tokens: real keys, a real JWKS endpoint, and the metadata that leads to it.
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';

const KINDS = {
  ES256: { make: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), sign: (data, key) => sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }) },
  RS256: { make: () => generateKeyPairSync('rsa', { modulusLength: 2048 }), sign: (data, key) => sign('sha256', data, key) },
  EdDSA: { make: () => generateKeyPairSync('ed25519'), sign: (data, key) => sign(null, data, key) },
};

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
export const seconds = (offset = 0) => Math.floor(Date.now() / 1000) + offset;

/** Starts an issuer; what it signs with is changed by `rotate`. */
export async function issuer() {
  let keys = [];
  let number = 0;
  let fetched = 0;
  const server = createServer((request, response) => {
    const answer = {
      '/.well-known/openid-configuration': () => ({ issuer: url, jwks_uri: `${url}/keys` }),
      '/keys': () => ((fetched += 1), { keys: keys.map(({ jwk }) => jwk) }),
    }[request.url];
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(answer ? JSON.stringify(answer()) : '{}');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${server.address().port}`;

  const made = {
    url,
    fetched: () => fetched,
    /** Signs with a new key of each kind from now on; the old ones are taken back. */
    rotate() {
      number += 1;
      keys = Object.entries(KINDS).map(([alg, { make }]) => {
        const { publicKey, privateKey } = make();
        const kid = `${alg}-${number}`;
        return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
      });
    },
    /** A token with these claims; `header` changes what its head says, not what it is signed with. */
    token(claims, { alg = 'ES256', header = {} } = {}) {
      const key = keys.find((key) => key.alg === alg);
      const whole = { iss: url, iat: seconds(), exp: seconds(300), ...claims };
      const signed = `${part({ alg, kid: key.kid, ...header })}.${part(whole)}`;
      const unsigned = header.alg === 'none';
      return `${signed}.${unsigned ? '' : KINDS[alg].sign(Buffer.from(signed), key.privateKey).toString('base64url')}`;
    },
    close: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
  };
  made.rotate();
  return made;
}
