/* Whether whole numbers are indices, and grouping positions by them, in as many steps as there are of both. Twins in Python
   are in mdh/indices.py and mdh/scatter.py.

   Counters that no cache near a core holds would be waited for at each number, and places in the order, too: so many numbers
   are first put into parts by their leading bits, each of which then is counted where its counters and places are near.
   Threads have counters of their own for their shares of the numbers, which are in order as the numbers are. */

#define NO_IMPORT_ARRAY
#include "shared.h"

enum {
    PARTS = 256,       /* at most: places that are written at by turns */
    NEAR = 1 << 17,    /* groups up to which parts took no less time, on a Xeon with 2 MB of cache a core */
    MANY = 1 << 15,    /* numbers from which on parts take less time */
    POSITION_BITS = 32, /* of a position in a part, beside which the rest of its number is kept */
    THREADS = 4,       /* at most */
    SHARE = 1 << 17,   /* numbers that a thread is started for */
    LOOKS = 8          /* numbers that are looked at in the time in which one is put in order */
};

/* Whether something is an array along one axis of numbers of a pointer's size, in C order, `length` of them if that is not
   negative. */
static int
is_row(PyObject *operand, npy_intp length)
{
    return PyArray_CheckExact(operand) && PyArray_NDIM((PyArrayObject *)operand) == 1
           && PyArray_TYPE((PyArrayObject *)operand) == NPY_INTP && PyArray_ISCARRAY_RO((PyArrayObject *)operand)
           && (length < 0 || PyArray_DIM((PyArrayObject *)operand, 0) == length);
}

/* Give a number's group, also one less than 0, which counts from the end; -1 for none. */
static inline npy_intp
group_of(npy_intp number, npy_intp count)
{
    npy_intp group = number + (number < 0 ? count : 0);
    return group < 0 || group >= count ? -1 : group;
}

typedef struct { /* of a group or part: at first how many numbers a thread has of it, then where its next one goes */
    npy_intp next, end;
} Counter;

/* What several threads work at, each on its share of the numbers. */
typedef struct {
    const npy_intp *numbers;
    const void *elements; /* the same of other types, to be looked at only: their bytes, and whether they have a sign */
    int bytes, has_sign;
    npy_intp length, count;
    npy_intp *order, *begin;
    Counter *counters;   /* of each thread, of all groups or parts */
    npy_uint64 *places;  /* room for all numbers, where they are put into parts first; else NULL */
    int shift, threads;
    int outside[THREADS]; /* whether a thread has seen a number that is none of a group */
} Work;

static npy_intp
share(const Work *work, int thread)
{
    return work->length / work->threads * thread + work->length % work->threads * thread / work->threads;
}

/* How many counters a thread has. */
static npy_intp
counted(const Work *work)
{
    return work->places == NULL ? work->count : PARTS;
}

static void
count(Work *work, int thread)
{
    Counter *counters = work->counters + thread * counted(work);
    memset(counters, 0, counted(work) * sizeof(*counters));
    for (npy_intp n = share(work, thread), end = share(work, thread + 1); n < end; ++n) {
        npy_intp group = group_of(work->numbers[n], work->count);
        if (group < 0) {
            work->outside[thread] = 1;
            return;
        }
        ++counters[group >> work->shift].next;
    }
}

/* Make all threads' counters the numbers of those before them: of groups or parts before, and of threads before. */
static void
sum(Work *work)
{
    npy_intp before = 0, each = counted(work);
    for (npy_intp group = 0; group < each; ++group) {
        if (work->places == NULL)
            work->begin[group] = before;
        for (int thread = 0; thread < work->threads; ++thread) {
            Counter *counter = &work->counters[thread * each + group];
            *counter = (Counter){before, before + counter->next};
            before = counter->end;
        }
    }
    work->begin[work->count] = before;
}

/* Put positions where their group's, or part's, next one goes. Another thread of the program may change numbers meanwhile:
   who finds as many of each as were counted has written everywhere, and nowhere else. */
static void
put(Work *work, int thread)
{
    Counter *counters = work->counters + thread * counted(work);
    npy_intp mask = ((npy_intp)1 << work->shift) - 1;
    for (npy_intp n = share(work, thread), end = share(work, thread + 1); n < end; ++n) {
        npy_intp group = group_of(work->numbers[n], work->count), part = group >> work->shift;
        if (group < 0 || counters[part].next >= counters[part].end) {
            work->outside[thread] = 1;
            return;
        }
        if (work->places == NULL)
            work->order[counters[part].next++] = n;
        else
            work->places[counters[part].next++] = (npy_uint64)(group & mask) << POSITION_BITS | (npy_uint64)n;
    }
}

/* Order the numbers of parts, every so many-th one. */
static void
order_parts(Work *work, int thread)
{
    const Counter *last = work->counters + (work->threads - 1) * PARTS;
    npy_intp each = (npy_intp)1 << work->shift;
    for (npy_intp part = thread, first; (first = part * each) < work->count; part += work->threads) {
        npy_intp *counters = work->begin + first, from = part == 0 ? 0 : last[part - 1].end, before = from;
        npy_intp groups = work->count - first < each ? work->count - first : each;
        memset(counters, 0, groups * sizeof(*counters));
        for (npy_intp p = from; p < last[part].end; ++p)
            ++counters[work->places[p] >> POSITION_BITS];
        for (npy_intp n = 0; n < groups; ++n) {
            npy_intp many = counters[n];
            counters[n] = before;
            before += many;
        }
        for (npy_intp p = from; p < last[part].end; ++p)
            work->order[counters[work->places[p] >> POSITION_BITS]++] =
                (npy_intp)(work->places[p] & (((npy_uint64)1 << POSITION_BITS) - 1));
        /* Each counter is where its group ends, which is where the next one begins. */
        memmove(counters + 1, counters, (groups - 1) * sizeof(*counters));
        counters[0] = from;
    }
}

typedef struct {
    void (*step)(Work *, int);
    Work *work;
    int thread;
    PyThread_type_lock done;
} Task;

static void
do_task(void *given)
{
    Task *task = given;
    task->step(task->work, task->thread);
    PyThread_release_lock(task->done);
}

/* Have all threads do a step: what cannot be started is done here. False if a number was none of a group. */
static int
all(Work *work, void (*step)(Work *, int))
{
    Task tasks[THREADS];
    int inside = 1;
    for (int n = 1; n < work->threads; ++n) {
        tasks[n] = (Task){step, work, n, PyThread_allocate_lock()};
        if (tasks[n].done == NULL)
            continue;
        PyThread_acquire_lock(tasks[n].done, WAIT_LOCK);
        if (PyThread_start_new_thread(do_task, &tasks[n]) == PYTHREAD_INVALID_THREAD_ID) {
            PyThread_free_lock(tasks[n].done);
            tasks[n].done = NULL;
        }
    }
    step(work, 0);
    for (int n = 1; n < work->threads; ++n) {
        if (tasks[n].done == NULL)
            step(work, n);
        else {
            PyThread_acquire_lock(tasks[n].done, WAIT_LOCK);
            PyThread_free_lock(tasks[n].done);
        }
    }
    for (int n = 0; n < work->threads; ++n)
        inside = inside && !work->outside[n];
    return inside;
}

/* Count numbers less than the work's `count`, those less than 0 from the end, and put them in order; false if one is neither. */
static int
ordered(Work *work)
{
    if (!all(work, count))
        return 0;
    sum(work);
    return all(work, put) && (work->places == NULL || all(work, order_parts));
}

/* See whether a thread's share of elements of a type are indices: with `below` added none is less than 0. Then neither that
   number nor what is left to the last one has the highest bit, which compilers find out for several at a time. */
#define LOOK(type, wide)                                                                        \
    do {                                                                                        \
        const type *elements = work->elements;                                                  \
        wide below = work->has_sign ? (wide)work->count : 0, last = (wide)work->count + below - 1, all = 0; \
        for (npy_intp n = share(work, thread), end = share(work, thread + 1); n < end; ++n) {   \
            wide number = (wide)elements[n] + below;                                            \
            all |= number | (last - number);                                                    \
        }                                                                                       \
        work->outside[thread] = (int)(all >> (8 * sizeof(wide) - 1));                           \
    } while (0)

static void
look(Work *work, int thread)
{
    int few = work->count < (npy_intp)1 << 30; /* so that twice as many have no highest bit of 32 */
    switch (work->has_sign ? -work->bytes : work->bytes) {
    case 1: LOOK(npy_uint8, npy_uint64); break;
    case 2: LOOK(npy_uint16, npy_uint64); break;
    case 4: LOOK(npy_uint32, npy_uint64); break;
    case 8: LOOK(npy_uint64, npy_uint64); break;
    case -1: LOOK(npy_int8, npy_uint64); break;
    case -2: LOOK(npy_int16, npy_uint64); break;
    case -4:
        if (few)
            LOOK(npy_int32, npy_uint32);
        else
            LOOK(npy_int32, npy_uint64);
        break;
    default: LOOK(npy_int64, npy_uint64); break;
    }
}

static int
threads_for(long threads, npy_intp length)
{
    npy_intp most = length / SHARE < THREADS ? length / SHARE : THREADS;
    return threads > most ? (most < 1 ? 1 : (int)most) : threads < 1 ? 1 : (int)threads;
}

static PyObject *
inside(PyObject *module, PyObject *const *operands, Py_ssize_t given)
{
    if (given != 3 || !PyArray_Check(operands[0]) || !PyArray_ISCARRAY_RO((PyArrayObject *)operands[0])
        || !PyArray_ISINTEGER((PyArrayObject *)operands[0]) || !PyLong_Check(operands[1]) || !PyLong_Check(operands[2])) {
        PyErr_SetString(PyExc_TypeError, "inside takes an array of integers in C order, how many elements they index; threads");
        return NULL;
    }
    PyArrayObject *elements = (PyArrayObject *)operands[0];
    Work work = {
        .elements = PyArray_DATA(elements), .bytes = (int)PyArray_ITEMSIZE(elements),
        .has_sign = PyArray_ISSIGNED(elements), .length = PyArray_SIZE(elements), .count = PyLong_AsSsize_t(operands[1]),
    };
    long threads = PyLong_AsLong(operands[2]);
    if (PyErr_Occurred())
        return NULL;
    work.threads = threads_for(threads, work.length / LOOKS);
    int found;
    Py_BEGIN_ALLOW_THREADS
    found = all(&work, look);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(found);
}

PyDoc_STRVAR(inside_doc,
"inside(elements, count, threads)\n--\n\n"
"Whether all elements are indices of an axis of so many, those less than 0 from its end.\n\n"
"So many threads look at them at most, fewer where they are few.");

static PyObject *
group(PyObject *module, PyObject *const *operands, Py_ssize_t given)
{
    if (given != 4 || !is_row(operands[0], -1) || !is_row(operands[2], -1) || PyArray_DIM((PyArrayObject *)operands[2], 0) < 1
        || !is_row(operands[1], PyArray_DIM((PyArrayObject *)operands[0], 0)) || !PyLong_Check(operands[3])
        || !PyArray_ISWRITEABLE((PyArrayObject *)operands[1]) || !PyArray_ISWRITEABLE((PyArrayObject *)operands[2])) {
        PyErr_SetString(PyExc_TypeError, "group takes numbers, their order, and where groups begin, all of them intp; threads");
        return NULL;
    }
    npy_intp length = PyArray_DIM((PyArrayObject *)operands[0], 0), groups = PyArray_DIM((PyArrayObject *)operands[2], 0) - 1;
    long threads = PyLong_AsLong(operands[3]);
    if (threads == -1 && PyErr_Occurred())
        return NULL;
    int apart = groups > NEAR && length >= MANY && (npy_uint64)length >> POSITION_BITS == 0;
    Work work = {
        .numbers = PyArray_DATA((PyArrayObject *)operands[0]), .length = length, .count = groups,
        .order = PyArray_DATA((PyArrayObject *)operands[1]), .begin = PyArray_DATA((PyArrayObject *)operands[2]),
        .threads = threads_for(threads, length),
    };
    while (apart && (groups - 1) >> work.shift >= PARTS)
        ++work.shift;
    /* Arrays, as NumPy asks for large pages. */
    npy_intp many = 2 * work.threads * (apart ? PARTS : groups);
    PyObject *counters = PyArray_SimpleNew(1, &many, NPY_INTP), *places = NULL;
    if (counters == NULL || (apart && (places = PyArray_SimpleNew(1, &length, NPY_UINT64)) == NULL)) {
        Py_XDECREF(counters);
        return NULL;
    }
    work.counters = PyArray_DATA((PyArrayObject *)counters);
    work.places = places == NULL ? NULL : PyArray_DATA((PyArrayObject *)places);
    int inside;
    Py_BEGIN_ALLOW_THREADS
    inside = ordered(&work);
    Py_END_ALLOW_THREADS
    Py_DECREF(counters);
    Py_XDECREF(places);
    return PyBool_FromLong(inside);
}

PyDoc_STRVAR(group_doc,
"group(numbers, order, begin, threads)\n--\n\n"
"Put positions in the order of their numbers, and say where those of each number begin, and the last ones end.\n\n"
"Numbers less than 0 count from the end. False if one is none of a group: then nothing is said. So many threads work at it\n"
"at most, fewer where numbers are few.");

PyMethodDef groupers[] = {
    {"inside", (PyCFunction)(void (*)(void))inside, METH_FASTCALL, inside_doc},
    {"group", (PyCFunction)(void (*)(void))group, METH_FASTCALL, group_doc},
    {NULL, NULL, 0, NULL},
};
