/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest that needs no kernel: 64 KiB of ROM below 1 MiB, where an x86
 * begins, in real mode.  WORK says what each of its vCPUs does for ever:
 *   BUSY    it computes;
 *   KERNEL  it leaves for KVM all the time, by cpuid;
 *   DEVICE  it leaves for QEMU all the time, by a port of no device;
 *   TIMER   it sleeps until a timer of its own wakes it, each TICK ns, and
 *           computes ROUNDS rounds then (of KVM only, which has an x2APIC).
 * The first vCPU starts the others, which QEMU makes wait for that.
 */
#define BUSY 0
#define KERNEL 1
#define DEVICE 2
#define TIMER 3

#define ROM_SEGMENT 0xf000
/* Model-specific registers: where the APIC is, and what it has. */
#define APIC_BASE 0x1b
#define X2APIC_ENABLED 0xc00
#define APIC_EOI 0x80b
#define APIC_SPURIOUS 0x80f
#define APIC_TIMER 0x832
#define APIC_COUNT 0x838
#define APIC_DIVISOR 0x83e
/* What sends interrupts to other vCPUs, and where older APICs have it. */
#define APIC_COMMAND 0x830
#define APIC_COMMAND_AT 0xfee00300
/* To all others: start anew, and at the segment with this page. */
#define SEND_INIT 0xc4500
#define SEND_STARTUP (0xc4600 | ROM_SEGMENT >> 8)
#define PERIODIC 0x20000
#define DIVIDE_BY_ONE 0xb
#define VECTOR 0x20
/* Of cpuid: its leaf, and the bit of an x2APIC in ecx. */
#define FEATURES 1
#define X2APIC 21
#define LOOPS 200000
/* The second segment of the table. */
#define FLAT 8
#define STACK 0x7000

.macro	write_msr register, value
	movl	$\register, %ecx
	movl	$\value, %eax
	xorl	%edx, %edx
	wrmsr
.endm

.macro	enable_apic
	movl	$APIC_BASE, %ecx
	rdmsr
	orl	$X2APIC_ENABLED, %eax
	wrmsr
	write_msr APIC_SPURIOUS, 0x1ff
.endm

	.code16
	.globl	_start
	/* Where the other vCPUs start: the first byte of the page. */
_start:	cli
	jmp	work

first:	cli
	movl	$LOOPS, %esi
	movl	$FEATURES, %eax
	cpuid
	btl	$X2APIC, %ecx
	jnc	older
	enable_apic
	write_msr APIC_COMMAND, SEND_INIT
1:	decl	%esi
	jnz	1b
	write_msr APIC_COMMAND, SEND_STARTUP
	jmp	work

	/* A segment of 4 GiB is kept when protected mode is left again. */
older:	lgdtl	%cs:table_at
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	movw	$FLAT, %bx
	movw	%bx, %ds
	andb	$~1, %al
	movl	%eax, %cr0
	movl	$APIC_COMMAND_AT, %edi
	movl	$SEND_INIT, (%edi)
1:	decl	%esi
	jnz	1b
	movl	$SEND_STARTUP, (%edi)
	jmp	work

	.align	8
table:	.quad	0
	.quad	0x00cf93000000ffff
table_at:
	.word	. - table - 1
	.long	ROM_SEGMENT * 16 + table

#if WORK == BUSY
work:	jmp	work

#elif WORK == KERNEL
work:	xorl	%eax, %eax
	cpuid
	jmp	work

#elif WORK == DEVICE
work:	outb	%al, $0x80
	jmp	work

#elif WORK == TIMER
work:	enable_apic
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %ss
	movw	$STACK, %sp
	movw	$tick, VECTOR * 4
	movw	$ROM_SEGMENT, VECTOR * 4 + 2
	/* KVM's APIC counts nanoseconds. */
	write_msr APIC_DIVISOR, DIVIDE_BY_ONE
	write_msr APIC_TIMER, PERIODIC | VECTOR
	write_msr APIC_COUNT, TICK
sleep:	sti
	hlt
	cli
	movl	$ROUNDS, %esi
round:	decl	%esi
	jnz	round
	jmp	sleep

tick:	write_msr APIC_EOI, 0
	iret
#endif

	/* Where an x86 begins. */
	.org	0xfff0
	ljmp	$ROM_SEGMENT, $first
	.org	0xffff
	.byte	0
