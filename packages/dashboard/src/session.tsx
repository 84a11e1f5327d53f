/** The session, and the scopes of its key. */
import type { Scope, Session } from '@countersign/contract'
import { Center, Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useState } from 'react'
import { readSession } from './api/client'
import { SESSION_KEY } from './api/query-client'
import { ErrorNotice } from './components/notice'
import { hasCode } from './pages/sign-in/code-in-url'
import { SignInPage } from './pages/sign-in/sign-in-page'

const SessionContext = createContext<Session | null>(null)

/** Shows its children once the user is signed in, and the sign-in page until then. */
export function SignedIn({ children }: { readonly children: ReactNode }) {
  const session = useQuery({ queryKey: SESSION_KEY, queryFn: readSession, staleTime: Number.POSITIVE_INFINITY })
  // A one-time link also replaces an existing session.
  const [isByLink, setByLink] = useState(hasCode)
  if (session.isPending)
    return (
      <Center mih="100vh">
        <Loader aria-label="Loading" />
      </Center>
    )
  // When the session cannot be read again, the last known one is kept, and with it what the user is typing.
  if (session.data === undefined)
    return (
      <Center mih="100vh" p="md">
        <ErrorNotice error={session.error} retry={() => session.refetch()} />
      </Center>
    )
  if (session.data === null || isByLink) return <SignInPage onSignedIn={() => setByLink(false)} />
  return <SessionContext value={session.data}>{children}</SessionContext>
}

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('useSession needs SignedIn around it.')
  return session
}

/** Whether the key of the session has the scope. */
export function useMay(): (scope: Scope) => boolean {
  const { scopes } = useSession().key
  return (scope) => scopes.includes('*') || scopes.includes(scope)
}
