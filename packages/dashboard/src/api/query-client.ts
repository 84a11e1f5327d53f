import type { Session } from '@countersign/contract'
import { QueryClient } from '@tanstack/react-query'
import { ApiError, listenForSession } from './client'

const MAX_RETRIES = 2

/** Another try may help: the server was away, or asked for one. */
function mayRetry(failures: number, error: unknown): boolean {
  const isPassing = error instanceof ApiError && (error.status === 0 || error.status === 503 || error.status === 429)
  return isPassing && failures < MAX_RETRIES
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 5_000, retry: mayRetry, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})

export const SESSION_KEY = ['session'] as const

/** The first part of the keys of explanations. */
export const EXPLANATION = 'explanation'

/**
 * Nothing that the session before has read stays in memory.
 *
 * @param session the present one; null: the sign-in page takes the place of whatever page is open
 */
export function replaceSession(session: Session | null): void {
  queryClient.setQueryData(SESSION_KEY, session)
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  // What a form tells of its failed call stays, as long as somebody is there to read it.
  if (session === null) queryClient.getMutationCache().clear()
}

/**
 * Nothing that was read with a request in it stays in memory, and every page shows what is left: after requests were erased.
 */
export async function forgetRequests(): Promise<void> {
  const isLeft = ({ queryKey: [of] }: { readonly queryKey: readonly unknown[] }) =>
    of !== SESSION_KEY[0] && of !== EXPLANATION
  await queryClient.invalidateQueries({ predicate: isLeft })
  queryClient.removeQueries({ predicate: isLeft, type: 'inactive' })
  // Those that are gone are not asked for again.
  queryClient.removeQueries({ queryKey: [EXPLANATION] })
}

listenForSession(replaceSession)
