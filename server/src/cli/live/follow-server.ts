/** The shared parts of commands that follow a server: the client, the key, and how they end. */
import { ApiError, type Countersign } from '@countersign/client'
import { CommandError, EXIT, exitCodeOfStatus, fail } from '../exit.js'
import { openClient } from '../open-client.js'
import { type ServerAccess, serverAccess } from '../server-access.js'

interface FollowedServer {
  readonly client: Countersign
  readonly access: ServerAccess
  /** Aborted to end the command: by SIGINT, SIGTERM, or when the output is closed. */
  readonly signal: AbortSignal
}

/**
 * Runs `follow` until it ends, a signal arrives or the output is closed.
 *
 * @param url that the command line names
 * @param scope that the key needs, for the error
 * @returns the exit code
 */
export async function followServer(
  url: string | undefined,
  scope: string,
  follow: (server: FollowedServer) => Promise<void>,
): Promise<number> {
  const access = serverAccess(url, scope)
  const client = openClient(access)
  const stop = new AbortController()
  const { signal } = stop
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort())
  let outputFault: NodeJS.ErrnoException | undefined
  process.stdout.on('error', (error) => {
    outputFault = error
    stop.abort()
  })
  try {
    await follow({ client, access, signal })
  } catch (error) {
    if (!signal.aborted) return fail(error as Error, codeOf(error))
  } finally {
    stop.abort()
    client.close()
  }
  // A reader that closes early, such as `head`, is not a fault.
  return outputFault === undefined || outputFault.code === 'EPIPE' ? EXIT.ok : fail(outputFault, EXIT.failure)
}

function codeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  return ApiError.isInstance(error) ? exitCodeOfStatus(error.status) : EXIT.failure
}
