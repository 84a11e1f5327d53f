import type { SignIn } from '@countersign/contract'
import { Anchor, Button, Center, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { signIn } from '../../api/client'
import { replaceSession } from '../../api/query-client'
import { ErrorNotice, Notice } from '../../components/notice'
import { takeCode } from './code-in-url'

/** Signs in with an API key or a one-time link. Then the page of the URL appears. */
export function SignInPage({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [key, setKey] = useState('')
  const start = useMutation({
    mutationFn: (given: SignIn) => signIn(given),
    onSuccess: (session) => {
      replaceSession(session)
      onSignedIn()
    },
    // Forgets the key after the request.
    gcTime: 0,
  })
  const isTaken = useRef(false)
  useEffect(() => {
    document.title = 'Sign in · Countersign'
    // A link signs in once: a second run of this effect must not use it again.
    if (isTaken.current) return
    isTaken.current = true
    const code = takeCode()
    if (code !== null) start.mutate({ code })
  }, [start.mutate])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const given = key.trim()
    setKey('')
    if (given !== '') start.mutate({ key: given })
  }
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={420}>
        <form onSubmit={submit}>
          <Stack>
            <div>
              <Title order={1}>Countersign</Title>
              <Text className="quiet">Sign in with an API key. Your session has the permissions of the key.</Text>
            </div>
            {window.isSecureContext ? (
              <>
                {start.isError && <ErrorNotice error={start.error} title="You are not signed in" />}
                <PasswordInput
                  label="API key"
                  name="key"
                  autoComplete="off"
                  value={key}
                  onChange={(event) => setKey(event.currentTarget.value)}
                  required
                />
                <Button type="submit" loading={start.isPending}>
                  Sign in
                </Button>
                <Text size="sm" className="quiet">
                  <code>npm start</code> prints a sign-in link and the location of the first key. If you have no key,
                  run <code>countersign keys create</code> on the server machine.
                </Text>
              </>
            ) : (
              <InsecurePage />
            )}
            <Text size="sm">
              <Anchor href="/docs">API reference</Anchor>
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}

/** Shown instead of the form, because others on the network could read what is typed here. */
function InsecurePage() {
  const { host, port } = window.location
  return (
    <Notice kind="warning" title="It is not safe to sign in here">
      <Text size="sm">
        It was loaded over plain HTTP from another machine ({host}). Open it over HTTPS, or through a tunnel:
      </Text>
      <pre>{`ssh -L 8787:127.0.0.1:${port || 80} <host>`}</pre>
      <Text size="sm">
        Then open <code>http://127.0.0.1:8787</code>.
      </Text>
    </Notice>
  )
}
