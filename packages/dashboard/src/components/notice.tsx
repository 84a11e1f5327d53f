import { Button, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client'
import classes from './notice.module.css'

export interface NoticeProps {
  readonly kind: 'info' | 'success' | 'warning' | 'error'
  readonly title?: string
  readonly children?: ReactNode
  /** Read out at once when it appears; else it waits for its turn. */
  readonly isUrgent?: boolean
}

/** A message that stays where it is, beside what it is about. */
export function Notice({ kind, title, children, isUrgent = kind === 'error' }: NoticeProps) {
  return (
    <div className={classes.notice} data-kind={kind} role={isUrgent ? 'alert' : 'status'}>
      {title !== undefined && <Text fw={600}>{title}</Text>}
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

export interface ErrorNoticeProps {
  readonly error: unknown
  readonly title?: string
  readonly retry?: () => unknown
}

/** What failed, what to do about it, and the id under which the server has logged it. */
export function ErrorNotice({ error, title, retry }: ErrorNoticeProps) {
  const problem = error instanceof ApiError ? error.problem : null
  return (
    <Notice kind="error" title={title ?? 'That did not work'}>
      <Text size="sm">{error instanceof Error ? error.message : String(error)}</Text>
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
