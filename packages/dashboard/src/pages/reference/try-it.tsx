/** A form that calls an endpoint with the session of the browser. */

import type { Session } from '@countersign/contract'
import { Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { Parameter } from '../../api/openapi'
import { replaceSession, SESSION_KEY } from '../../api/query-client'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { visibleText } from '../../components/invisible'
import { prettyJson } from '../../components/json/pretty-json'
import { ErrorNotice, Notice } from '../../components/notice'
import { Answer } from './answer'
import { hasScopes, type Operation } from './openapi'
import { Prose } from './prose'
import classes from './reference.module.css'
import { exampleIn, valuesOf } from './schema'
import { type ShownAnswer, sendCall, type Values } from './send'

export interface TryItProps {
  readonly operation: Operation
  readonly session: Session | null
  /** The initial body. */
  readonly example: unknown
}

export function TryIt({ operation, session, example }: TryItProps) {
  return (
    <section className={classes.try} aria-label={`Try ${operation.id}`}>
      {session === null ? (
        <Text>
          <Link to="/">Sign in</Link> to try this call, then return to this page.
        </Text>
      ) : (
        <CallForm operation={operation} session={session} example={example} />
      )}
    </section>
  )
}

/** Queries that no call of the API affects. */
const UNCHANGED = new Set<unknown>([SESSION_KEY[0], 'openapi'])
/** Calls that need a confirmation, although they do not delete. */
const ENDS_SOMETHING = new Set(['agents_suspend', 'keys_rotate', 'webhooks_rotateSecret'])
/** Calls whose response contains a secret that is shown only once. */
const SHOWS_SECRET = new Set(['keys_create', 'keys_rotate', 'webhooks_create', 'webhooks_rotateSecret'])
/** Headers that the form leaves out: the server creates the request id, and the stream starts now. */
const LEFT_OUT = new Set(['X-Request-Id', 'Last-Event-ID'])

function CallForm({ operation, session, example }: TryItProps & { readonly session: Session }) {
  const { id, method, path, parameters, body, isChange, scopes } = operation
  const client = useQueryClient()
  const [values, setValues] = useState<Values>({})
  const [text, setText] = useState(() => (body === null ? '' : prettyJson(example)))
  const [isAsking, setAsking] = useState(false)
  const [answer, setAnswer] = useState<ShownAnswer | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [running, setRunning] = useState<AbortController | null>(null)
  const present = useRef<AbortController | null>(null)
  useEffect(() => () => present.current?.abort(), [])

  const mayCall = hasScopes(scopes, session.key.scopes)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (method === 'DELETE' || ENDS_SOMETHING.has(id)) setAsking(true)
    else void send()
  }
  const send = async () => {
    const stop = new AbortController()
    present.current = stop
    setRunning(stop)
    setAnswer(null)
    setError(null)
    try {
      await sendCall(operation, values, text, stop.signal, (shown) => {
        setAnswer(shown)
        if (shown.status === 401) replaceSession(null)
      })
      if (isChange) void client.invalidateQueries({ predicate: ({ queryKey }) => !UNCHANGED.has(queryKey[0]) })
    } catch (caught) {
      if (stop.signal.aborted) setAnswer((shown) => shown && { ...shown, isEnded: true })
      else setError(caught)
    } finally {
      setRunning(null)
    }
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text size="sm" className="quiet">
          {isChange ? (
            <>
              <strong>This is a real call.</strong> It changes data on this server and is recorded in its audit log.
            </>
          ) : (
            'It changes nothing.'
          )}{' '}
          Your session sends it with the permissions of the key {visibleText(session.key.name)}.
        </Text>
        {!mayCall && (
          <Notice kind="warning">
            Your key is missing {scopes.names.join(scopes.needsAll ? ' and ' : ' or ')}, so the server will refuse the
            call.
          </Notice>
        )}
        {SHOWS_SECRET.has(id) && (
          <Notice kind="warning">
            The response contains a secret that is shown only once, and this form hides it. Use the page{' '}
            {id.startsWith('keys') ? <Link to="/keys">API keys</Link> : <Link to="/webhooks">Webhooks</Link>} to get a
            secret that you can copy.
          </Notice>
        )}
        <div className={classes.fields}>
          {parameters
            .filter(({ name }) => !LEFT_OUT.has(name))
            .map((parameter) => (
              <Field
                key={parameter.name}
                parameter={parameter}
                value={values[parameter.name] ?? ''}
                onChange={(value) => setValues({ ...values, [parameter.name]: value })}
              />
            ))}
        </div>
        {body !== null && (
          <Textarea
            label="Body"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            spellCheck={false}
            rows={Math.min(20, text.split('\n').length + 1)}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.8125rem' } }}
          />
        )}
        <Group>
          <Button type="submit" loading={running !== null} color={method === 'DELETE' ? 'red' : 'indigo'}>
            Send {method}
          </Button>
          {running !== null && (
            <Button variant="default" onClick={() => running.abort()}>
              Stop
            </Button>
          )}
        </Group>
        {error !== null && <ErrorNotice error={error} />}
        {answer !== null && <Answer operation={operation} answer={answer} />}
      </Stack>
      <ConfirmDialog
        title={`${method} ${path}`}
        opened={isAsking}
        onClose={() => setAsking(false)}
        action={`Send ${method}`}
        run={async () => void send()}
        isDangerous
      >
        <Prose text={operation.summary} /> This is a real call on this server.
      </ConfirmDialog>
    </form>
  )
}

interface FieldProps {
  readonly parameter: Parameter
  readonly value: string
  readonly onChange: (value: string) => void
}

function Field({ parameter: { name, in: place, required = false, schema }, value, onChange }: FieldProps) {
  const values = valuesOf(schema)
  const given = {
    label: place === 'header' ? `${name} (header)` : name,
    value,
    required,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value),
  }
  if (values.length > 0) return <NativeSelect {...given} data={['', ...values.map(String)]} />
  const example = exampleIn(schema)
  return <TextInput {...given} placeholder={example === undefined ? '' : String(example)} autoComplete="off" />
}
