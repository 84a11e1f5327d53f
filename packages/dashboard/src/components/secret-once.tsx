import { Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { CopyButton } from './copy-button'
import { Dialog, type DialogProps } from './dialog'
import { Notice } from './notice'
import classes from './secret-once.module.css'

/** A secret that the server has just told. */
export interface OnceSecret {
  readonly title: string
  /** Undefined when the answer that had it was lost: a repeated call tells it no more. */
  readonly secret: string | undefined
  /** What it is for, or what becomes of the one before it. */
  readonly note: string
}

export interface SecretOnceProps extends Omit<DialogProps, 'isSticky' | 'children'> {
  /** The form. It hands over the secret that it gets, and must not keep it. */
  readonly children: (show: (secret: OnceSecret) => void) => ReactNode
}

/**
 * A dialog with a form that makes a secret. Afterwards it shows the secret, this once: it is kept in the state of this dialog
 * alone, until somebody closes it.
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
  // What had the focus is gone with the form.
  useEffect(() => (ref.current ?? close.current)?.focus(), [])
  const { note, secret } = shown
  if (secret === undefined)
    return (
      <Stack gap="md">
        <Text>{note}</Text>
        <Notice kind="warning" title="The first answer was lost, and the secret with it">
          It was made, and is told only once. Rotate it to get a new one.
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
      <Notice kind="warning" title="It is never shown again">
        Copy it now, to where it is used or to a store of secrets. If it gets lost, rotate it: that makes a new one.
      </Notice>
      <Group justify="flex-end" gap="xs">
        <CopyButton text={secret} label="Copy" size="sm" />
        <Button onClick={onClose}>I have copied it</Button>
      </Group>
    </Stack>
  )
}
