import { Countersign, type CountersignClient, type CountersignOptions, type Decision } from '../src/index.js'
import type { OpenTransport, TransportRequest } from '../src/transport.js'

/** A request as it reached the decision point. */
export interface Sent {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

/** What the declarations of the package do not show. */
interface Internal {
  over(openTransport: () => OpenTransport): CountersignClient
}

/** Answers a request with a status and a body. */
type Answer = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

export type Answering = (sent: Sent) => Promise<Answer> | Answer

/** A client whose decision point is a function of this process: all of the SDK apart from the network. */
export function memoryClient(answer: Answering, options: CountersignOptions = {}): CountersignClient {
  const client = new Countersign({
    baseUrl: 'http://memory',
    apiKey: 'key-of-a-test',
    agentId: 'agent:a',
    maxRetries: 0,
    ...options,
  })
  const send = async ({ url, body, signal }: TransportRequest) => {
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    const answering = answer({ path: new URL(url).pathname, body: JSON.parse(body ?? '{}') })
    const [status, given, headers] = await Promise.race([answering, aborted])
    return {
      status,
      header: (name: string) => headers?.[name] ?? null,
      body: new TextEncoder().encode(JSON.stringify(given)),
    }
  }
  const stream = () => Promise.reject(new Error('there is no stream in memory'))
  const open: OpenTransport = () => ({ send, stream, close: () => undefined })
  return (client as unknown as Internal).over(() => open)
}

/** Another authorized decision about what was asked, each time: files of tests share a process, which knows what it has run. */
export function permission({ body }: Sent, change: Partial<Decision> = {}): readonly [number, unknown] {
  const { agent_id, action, resource = null } = body
  const expires_at = new Date(Date.now() + 300_000).toISOString()
  const id = `dec_${crypto.randomUUID()}`
  const decision = {
    id,
    agent_id,
    action,
    resource,
    effect: 'allow',
    status: 'authorized',
    expires_at,
    permit_token: 'e30.e30.e30',
  }
  return [200, { ...decision, ...change }]
}

/** The decision that is settled, as it was named. */
export function settled({ path }: Sent): readonly [number, unknown] {
  const [, id, transition] = /decisions\/([^/]+)\/(confirm|reject)$/.exec(path) ?? []
  const about = { agent_id: 'agent:a', action: 'a.b', resource: null, expires_at: new Date().toISOString() }
  return [200, { ...about, id, effect: 'allow', status: transition === 'confirm' ? 'confirmed' : 'rejected' }]
}
