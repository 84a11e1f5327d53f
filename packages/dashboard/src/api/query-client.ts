import type { Session } from '@countersign/contract'
import { QueryClient } from '@tanstack/react-query'
import { ApiError, listenForSession } from './client'

const MAX_RETRIES = 2

/** Another attempt may help when the server was away or overloaded. */
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

/** The first part of the query key of every explanation. */
export const EXPLANATION = 'explanation'

/**
 * Removes everything that the previous session has read from memory.
 *
 * @param session the current one; null shows the sign-in page in place of the open page
 */
export function replaceSession(session: Session | null): void {
  queryClient.setQueryData(SESSION_KEY, session)
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  // A form keeps the error of its failed call until the user has signed out.
  if (session === null) queryClient.getMutationCache().clear()
}

/** Removes erased requests from memory. Open pages read again what remains. */
export async function forgetRequests(): Promise<void> {
  const isLeft = ({ queryKey: [of] }: { readonly queryKey: readonly unknown[] }) =>
    of !== SESSION_KEY[0] && of !== EXPLANATION
  await queryClient.invalidateQueries({ predicate: isLeft })
  queryClient.removeQueries({ predicate: isLeft, type: 'inactive' })
  // An erased explanation is not read again.
  queryClient.removeQueries({ queryKey: [EXPLANATION] })
}

listenForSession(replaceSession)
