import { Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { CopyButton } from './copy-button'
import { Dialog, type DialogProps } from './dialog'
import { Notice } from './notice'
import classes from './secret-once.module.css'

/** A secret that the server has just returned. */
export interface OnceSecret {
  readonly title: string
  /** Undefined when the response was lost: a repeated call does not return the secret again. */
  readonly secret: string | undefined
  /** What the secret is for, or when the old one ends. */
  readonly note: string
}

export interface SecretOnceProps extends Omit<DialogProps, 'isSticky' | 'children'> {
  /** The form. It passes the secret to `show` and must not keep it. */
  readonly children: (show: (secret: OnceSecret) => void) => ReactNode
}

/**
 * A dialog with a form that creates a secret, and then shows the secret once. Only the state of this dialog holds the secret,
 * until the dialog is closed.
 */
export function SecretOnce({ title, opened, onClose, size, children }: SecretOnceProps) {
  const [shown, setShown] = useState<OnceSecret | null>(null)
  const close = () => {
    setShown(null)
    onClose()
  }
  return (
    <Dialog
      title={shown?.title ?? title}
      opened={opened}
      onClose={close}
      size={shown === null ? size : 'md'}
      isSticky={shown !== null}
    >
      {shown === null ? children(setShown) : <Secret shown={shown} onClose={close} />}
    </Dialog>
  )
}

function Secret({ shown, onClose }: { readonly shown: OnceSecret; readonly onClose: () => void }) {
  const ref = useRef<HTMLElement>(null)
  const close = useRef<HTMLButtonElement>(null)
  // The focused element disappeared with the form.
  useEffect(() => (ref.current ?? close.current)?.focus(), [])
  const { note, secret } = shown
  if (secret === undefined)
    return (
      <Stack gap="md">
        <Text>{note}</Text>
        <Notice kind="warning" title="The response was lost, and the secret with it">
          The secret was created, but it is shown only once. Rotate it to get a new one.
        </Notice>
        <Group justify="flex-end">
          <Button ref={close} onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    )
  return (
    <Stack gap="md">
      <Text>{note}</Text>
      <code className={classes.secret} ref={ref} tabIndex={-1}>
        {secret}
      </code>
      <Notice kind="warning" title="You won’t see this secret again">
        Copy it now and store it safely, such as in a secret manager. If you lose it, rotate it to get a new one.
      </Notice>
      <Group justify="flex-end" gap="xs">
        <CopyButton text={secret} label="Copy" size="sm" />
        <Button onClick={onClose}>I have copied it</Button>
      </Group>
    </Stack>
  )
}
