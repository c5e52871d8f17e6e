// A person's browser, without a screen, and the way through a sign-in with it.

/** A person's browser, without a screen: follows redirects, keeps cookies, and is this account wherever it signs in. */
export class Browser {
  #cookies = new Map();

  constructor(account = 'alice') {
    this.account = account;
  }

  /** One request; redirects are answers like others. */
  async request(url, options = {}) {
    const { origin } = new URL(url);
    // Cookies belong to a host, whatever its port.
    const cookies = [...this.#cookies.values()].join('; ');
    const headers = { 'x-account': this.account, ...(cookies ? { cookie: cookies } : {}), ...options.headers };
    const response = await fetch(url, { redirect: 'manual', ...options, headers });
    for (const line of response.headers.getSetCookie()) {
      const [pair] = line.split(';');
      const name = pair.slice(0, pair.indexOf('='));
      if (/expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, pair);
    }
    return { status: response.status, location: response.headers.get('location'), origin, text: await response.text(), headers: response.headers };
  }

  /** Follows redirects to their end; answers the last response and where it came from. */
  async open(url, options = {}) {
    let at = url;
    let response = await this.request(at, options);
    for (let hops = 0; response.location && response.status < 400; hops += 1) {
      if (hops === 20) throw new Error(`${url} redirects without end`);
      at = new URL(response.location, at).href;
      response = await this.request(at);
    }
    return { ...response, url: at };
  }
}

/** Goes all the way from a link of the gateway to its last page. */
export async function followLink(link, browser) {
  const page = await browser.request(link);
  const ticket = page.text.match(/name="ticket" value="([^"]+)"/)?.[1];
  if (page.status !== 200 || !ticket) throw new Error(`${page.status} ${page.text}`);
  const { origin } = new URL(link);
  const done = await browser.open(`${origin}/oauth/start`, {
    method: 'POST',
    body: new URLSearchParams({ ticket }),
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
  });
  if (done.status !== 200 || !/You are signed in/.test(done.text)) throw new Error(`${done.url}: ${done.status} ${done.text}`);
  return done;
}
