/** A form for a request to simulate. */
import type { DecisionDetail } from '@countersign/contract'
import { Button, Group, Input, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useMemo } from 'react'
import { ApiError } from '../../api/client'
import { JsonEditor } from '../json/json-editor'
import { rangeOfPointer } from '../json/json-tree'
import { prettyJson } from '../json/pretty-json'
import { readText } from '../json/read-text'
import { syntaxProblem } from '../json/syntax-problem'
import classes from './simulator.module.css'

/** A request as the user types it. */
export interface RequestDraft {
  readonly agent_id: string
  readonly action: string
  readonly resource: string
  /** JSON; empty for no context. */
  readonly context: string
}

export const EMPTY_REQUEST: RequestDraft = { agent_id: '', action: '', resource: '', context: '{}' }

export function requestOf({ agent_id, action, resource, context }: DecisionDetail): RequestDraft {
  return { agent_id, action, resource: resource ?? '', context: prettyJson(context ?? {}) }
}

/** Writes the request as JSON, with the context unchanged. */
export function requestText({ agent_id, action, resource, context }: RequestDraft): string {
  const members = [
    `"agent_id": ${JSON.stringify(agent_id)}`,
    `"action": ${JSON.stringify(action)}`,
    ...(resource === '' ? [] : [`"resource": ${JSON.stringify(resource)}`]),
    ...(context.trim() === '' ? [] : [`"context": ${context}`]),
  ]
  return `{${members.join(', ')}}`
}

const FIELDS = [
  ['agent_id', 'Agent', 'agent:support-7'],
  ['action', 'Action', 'payment.refund'],
  ['resource', 'Resource', 'order:8812, or none'],
] as const

export interface RequestFormProps {
  readonly request: RequestDraft
  readonly onChange: (request: RequestDraft) => void
  readonly onSubmit: () => void
  readonly submit: string
  readonly isBusy: boolean
  /** Why the request cannot be simulated now. */
  readonly obstacle?: string | null
  /** The error of the last simulation. */
  readonly error: unknown
  readonly children?: ReactNode
}

export function RequestForm(props: RequestFormProps) {
  const { request, onChange, onSubmit, submit, isBusy, obstacle = null, error } = props
  const { context } = request
  const errors = requestErrors(error)
  const problems = useMemo(() => contextProblems(context, requestErrors(error)), [context, error])
  const run = (event: FormEvent) => {
    event.preventDefault()
    if (problems.every(({ pointer }) => pointer !== null)) onSubmit()
  }
  return (
    <form onSubmit={run} aria-label="Request">
      <Stack gap="sm">
        <div className={classes.fields}>
          {FIELDS.map(([name, label, placeholder]) => (
            <TextInput
              key={name}
              label={label}
              placeholder={placeholder}
              required={name !== 'resource'}
              withAsterisk={false}
              value={request[name]}
              error={errors.get(`/${name}`) ?? null}
              onChange={(event) => onChange({ ...request, [name]: event.currentTarget.value })}
            />
          ))}
        </div>
        <div>
          <Input.Label labelElement="div">Context</Input.Label>
          <JsonEditor
            label="Context"
            size="small"
            text={context}
            onChange={(text) => onChange({ ...request, context: text })}
            problems={problems}
          />
          {problems.map(({ message }) => (
            <Text key={message} size="sm" c="var(--deny)">
              {message}
            </Text>
          ))}
        </div>
        <Group gap="sm">
          <Button type="submit" loading={isBusy} disabled={obstacle !== null}>
            {submit}
          </Button>
          <Text size="sm" className="quiet">
            {obstacle ?? 'Nothing is stored, and no permit is issued.'}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}

/** Returns the errors of the response by the pointer of their field in the request. */
function requestErrors(error: unknown): ReadonlyMap<string, string> {
  const errors = error instanceof ApiError ? (error.problem?.errors ?? []) : []
  return new Map(
    errors.flatMap(({ pointer, detail }) => (pointer.startsWith('/request/') ? [[pointer.slice(8), detail]] : [])),
  )
}

function contextProblems(context: string, errors: ReadonlyMap<string, string>) {
  if (context.trim() === '') return []
  const read = readText(context)
  if (!read.ok) return [syntaxProblem(context, read)]
  return [...errors].flatMap(([pointer, message]) => {
    if (pointer !== '/context' && !pointer.startsWith('/context/')) return []
    const inner = pointer.slice('/context'.length)
    return [{ severity: 'error' as const, pointer: inner, message, ...rangeOfPointer(context, inner, 'key') }]
  })
}
