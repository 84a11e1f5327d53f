import { Modal, type ModalProps } from '@mantine/core'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import classes from './dialog.module.css'

export interface DialogProps {
  readonly title: string
  readonly opened: boolean
  readonly onClose: () => void
  readonly size?: ModalProps['size']
  /** Only a button inside closes it. What is under way in it holds it open too: see `useHeldOpen`. */
  readonly isSticky?: boolean
  /** It is made anew each time the dialog opens. */
  readonly children: ReactNode
}

const HoldContext = createContext<(isHeld: boolean) => void>(() => {})

/** Keeps the dialog around open while an answer is under way: what comes of it has to be seen. */
export function useHeldOpen(isPending: boolean): void {
  const hold = useContext(HoldContext)
  useEffect(() => {
    hold(isPending)
    return () => hold(false)
  }, [hold, isPending])
}

/** A window over the page. A click beside it does not close it: what was typed would be lost. */
export function Dialog({ title, opened, onClose, isSticky = false, size = 'md', children }: DialogProps) {
  const [isHeld, hold] = useState(false)
  return (
    <Modal.Root
      opened={opened}
      onClose={onClose}
      size={size}
      closeOnClickOutside={false}
      closeOnEscape={!isSticky && !isHeld}
      transitionProps={{ duration: 0 }}
    >
      <Modal.Overlay />
      <Modal.Content className={classes.content ?? ''}>
        {/* A dialog has no banner. */}
        <Modal.Header role="presentation">
          <Modal.Title className={classes.title ?? ''}>{title}</Modal.Title>
          {!isSticky && <Modal.CloseButton aria-label="Close" disabled={isHeld} />}
        </Modal.Header>
        <Modal.Body>
          <HoldContext value={hold}>{children}</HoldContext>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
