import { Anchor, Button, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client'
import classes from './notice.module.css'

export interface NoticeProps {
  readonly kind: 'info' | 'success' | 'warning' | 'error'
  readonly title?: string
  readonly children?: ReactNode
  /** If true, a screen reader interrupts to read it out. */
  readonly isUrgent?: boolean
}

/** A message that stays beside its subject. */
export function Notice({ kind, title, children, isUrgent = kind === 'error' }: NoticeProps) {
  return (
    <div className={classes.notice} data-kind={kind} role={isUrgent ? 'alert' : 'status'}>
      {title !== undefined && <Text fw={600}>{title}</Text>}
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

/** The wording differs between browsers. */
const NOT_LOADED = /dynamically imported module|importing a module script/i

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (!NOT_LOADED.test(message)) return message
  return 'Part of the dashboard could not be loaded: the server is not responding, or it was updated. Reload the page.'
}

export interface ErrorNoticeProps {
  readonly error: unknown
  readonly title?: string
  readonly retry?: () => unknown
}

/** Shows what failed, what to do about it, and the request id in the server's log. */
export function ErrorNotice({ error, title, retry }: ErrorNoticeProps) {
  const problem = error instanceof ApiError ? error.problem : null
  const isRewritten = problem?.code === 'log_rewritten'
  return (
    <Notice kind="error" title={isRewritten ? rewrittenTitle(title) : (title ?? 'Something went wrong')}>
      {isRewritten && <Rewritten />}
      <Text size="sm">{messageOf(error)}</Text>
      <Group gap="sm" mt="xs">
        {retry !== undefined && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
        {problem !== null && (
          <Text size="xs" className="quiet">
            {problem.code}, request <span className="mono">{problem.request_id}</span>
          </Text>
        )}
      </Group>
    </Notice>
  )
}

const REWRITTEN_DOCS = 'https://github.com/countersign/countersign/blob/main/docs/audit.md#a-log-that-was-rewritten'

function rewrittenTitle(title: string | undefined): string {
  return title === undefined ? 'The audit log was rewritten' : `${title}: the audit log was rewritten`
}

function Rewritten() {
  return (
    <Text size="sm">
      The log in the store does not continue from what this server signed. The store was edited, or an older copy of it
      was restored. Decisions continue, but the server signs and proves nothing until an operator restores the right
      data or accepts the log as it is. What to do:{' '}
      <Anchor href={REWRITTEN_DOCS} target="_blank" rel="noreferrer" inherit underline="always">
        docs/audit.md, “A log that was rewritten”
      </Anchor>
      .
    </Text>
  )
}
