// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type AnyJson = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: AnyJson
}

export interface CallOptions {
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One request to a server. Rejects when no answer comes. */
export async function call(url: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { key, body, headers } = options
  const res = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await res.text()
  const isJson = /[/+]json/.test(res.headers.get('Content-Type') ?? '')
  return { status: res.status, headers: res.headers, body: isJson ? JSON.parse(text) : text }
}

/** Every item of a list, from its first page to its last. */
export async function listAll(url: string, path: string, key: string): Promise<AnyJson[]> {
  const items = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = `limit=200${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const { status, body } = await call(url, 'GET', `${path}${path.includes('?') ? '&' : '?'}${query}`, { key })
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${JSON.stringify(body)}`)
    items.push(...body.data)
    cursor = body.next_cursor
  }
  return items
}
