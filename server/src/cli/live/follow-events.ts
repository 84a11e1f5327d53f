/** The shared parts of commands that follow live events. */
import { once } from 'node:events'
import type { Countersign, EventsOptions, ReceivedEvent } from '@countersign/client'
import { writeNotice } from '../exit.js'
import { followServer } from './follow-server.js'

/** The time after which a server that has not answered yet is reported. */
const FIRST_ANSWER_MS = 2_000

interface Following {
  /** Aborted to end the command. */
  readonly signal: AbortSignal
  /** Writes a line to standard output, and waits until its reader takes more. */
  print(line: string): Promise<void>
}

export interface FollowOptions {
  readonly url: string | undefined
  readonly filters: Omit<EventsOptions, 'signal'>
  /** Called before the first event, once the settings are known to be right. */
  readonly begin?: (following: Following) => Promise<void>
  readonly follow: (event: ReceivedEvent, following: Following) => Promise<void>
}

/**
 * Calls `follow` with each event until a signal arrives or the output is closed. Continues after lost connections and
 * restarts of the server. Resolves with the exit code.
 */
export function followEvents({ url, filters, begin, follow }: FollowOptions): Promise<number> {
  return followServer(url, 'decisions:read', async ({ client, access, signal }) => {
    const print = async (line: string): Promise<void> => {
      if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain', { signal })
    }
    await begin?.({ signal, print })
    void tellOfNoAnswer(client, access.baseUrl, signal)
    for await (const event of client.events({ ...filters, signal })) await follow(event, { signal, print })
  })
}

/** Otherwise a wrong address would look like a server without events. */
async function tellOfNoAnswer(client: Countersign, baseUrl: string, signal: AbortSignal): Promise<void> {
  const isAlive = await client.health.livez({ signal, timeoutMs: FIRST_ANSWER_MS }).catch(() => false)
  if (!isAlive && !signal.aborted)
    writeNotice('warn', `No Countersign server answers at ${baseUrl} yet. The command waits for it.`, {})
}
