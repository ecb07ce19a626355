/* W(CLIENTS, CRASH, LOST, EXPIRE), writer key_atomic.
 *
 * CLIENTS clients submit one operation under one key, three attempts each.
 * Every scheduler choice (step i, lose i, crash i, jump) is one d_step that
 * starts and ends at the head of the one loop, so stored states are exactly
 * the states between choices.
 *
 *   spin -a -DCLIENTS=3 -DCRASH=2 -DLOST=2 -DEXPIRE=2 w.pml
 *   gcc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * -DNOFENCE gives key_atomic_nofence, which breaks the property.
 */
#ifndef CLIENTS
#define CLIENTS	2
#endif
#ifndef CRASH
#define CRASH	1
#endif
#ifndef LOST
#define LOST	1
#endif
#ifndef EXPIRE
#define EXPIRE	1
#endif

#define RESPOND		4	/* pc: 1, 2, 3 are the numbered steps */
#define FINISHED	5
#define ATTEMPTS	3

#define NONE		0	/* status */
#define INPROGRESS	1
#define DONE		2

#define OK		1	/* kind; 0 is no response */
#define CONFLICT	2

typedef Client {
	byte pc = 1;
	byte attempt = 1;
	byte mine;		/* fence claimed, nonzero only at pc 2 and 3 */
	byte kind;		/* pending response, nonzero only at RESPOND */
	byte id			/* RESPOND: id in a pending OK; FINISHED: id seen, 0 = no success */
};

byte reports, status, expired, fence, resp;
byte crash = CRASH, lost = LOST, expire = EXPIRE;
Client c[CLIENTS];

#define FIN(i)	(c[i].pc == FINISHED)
#define SAW(i)	(c[i].id != 0)
#define BAD(i)	(c[i].id > reports)

#if CLIENTS == 2
#define COMPLETE	(FIN(0) && FIN(1))
#define SUCCESS		(SAW(0) || SAW(1))
#define UNKNOWN		(BAD(0) || BAD(1))
#elif CLIENTS == 3
#define COMPLETE	(FIN(0) && FIN(1) && FIN(2))
#define SUCCESS		(SAW(0) || SAW(1) || SAW(2))
#define UNKNOWN		(BAD(0) || BAD(1) || BAD(2))
#elif CLIENTS == 4
#define COMPLETE	(FIN(0) && FIN(1) && FIN(2) && FIN(3))
#define SUCCESS		(SAW(0) || SAW(1) || SAW(2) || SAW(3))
#define UNKNOWN		(BAD(0) || BAD(1) || BAD(2) || BAD(3))
#else
#error CLIENTS must be 2, 3 or 4
#endif

/* Called where a client finishes: only there can a state become complete. */
inline finish(i)
{
	c[i].pc = FINISHED;
	c[i].mine = 0;
	c[i].kind = 0;
	if
	:: COMPLETE ->
		assert(reports <= 1 && (!SUCCESS || reports == 1) && !UNKNOWN)
	:: else
	fi
}

inline retry(i)
{
	c[i].id = 0;
	if
	:: c[i].attempt < ATTEMPTS ->
		c[i].attempt++;
		c[i].pc = 1;
		c[i].mine = 0;
		c[i].kind = 0
	:: else ->
		finish(i)
	fi
}

inline respond(i, k, r)
{
	c[i].pc = RESPOND;
	c[i].mine = 0;
	c[i].kind = k;
	c[i].id = r
}

inline step(i)
{
	if
	:: c[i].pc == 1 ->
		if
		:: status == DONE ->
			respond(i, OK, resp)
		:: status == INPROGRESS && !expired ->
			respond(i, CONFLICT, 0)
		:: else ->
			status = INPROGRESS;
			expired = 0;
			fence++;
			c[i].mine = fence;
			c[i].pc = 2
		fi
	:: c[i].pc == 2 ->
		c[i].pc = 3
	:: c[i].pc == 3 ->
		if
#ifdef NOFENCE
		:: true ->
#else
		:: status == INPROGRESS && fence == c[i].mine ->
#endif
			reports++;
			status = DONE;
			expired = 0;
			resp = reports;
			respond(i, OK, reports)
#ifndef NOFENCE
		:: status == DONE ->
			respond(i, OK, resp)
		:: else ->
			respond(i, CONFLICT, 0)
#endif
		fi
	:: c[i].pc == RESPOND ->
		if
		:: c[i].kind == OK ->
			finish(i)
		:: else ->
			retry(i)
		fi
	fi
}

#define CHOICES(i) \
	:: d_step { c[i].pc != FINISHED -> step(i) } \
	:: d_step { lost > 0 && c[i].pc == RESPOND -> lost--; retry(i) } \
	:: d_step { crash > 0 && c[i].pc != FINISHED -> crash--; retry(i) }

active proctype w()
{
end:	do
	CHOICES(0)
	CHOICES(1)
#if CLIENTS > 2
	CHOICES(2)
#endif
#if CLIENTS > 3
	CHOICES(3)
#endif
	:: d_step { expire > 0 && !COMPLETE ->
		expire--;
		if
		:: status == INPROGRESS -> expired = 1
		:: else
		fi
	   }
	od
}
