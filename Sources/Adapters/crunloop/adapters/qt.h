/**
 * <crunloop/adapters/qt.h>: an rlc_loop inside the event loop of a thread of Qt 5 or 6. For C++17, with QtCore.
 *
 * A nested QEventLoop serves the loop too, unless it excludes socket notifiers.
 */
#ifndef CRUNLOOP_ADAPTERS_QT_H
#define CRUNLOOP_ADAPTERS_QT_H

#include <crunloop/adapters/hosted.h>
#include <new>
#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QMetaObject>
#include <QObject>
#include <QSocketNotifier>

/** A loop in a thread's event loop. Who attaches it owns it, and ends it by rlc_qt_detach. */
struct rlc_qt_host {
    rlc_hosted hosted;
    QObject *context;          /**< Owns the notifier and the connections. */
    QSocketNotifier *notifier; /**< Of the context. */
    bool is_queued;            /**< A pass is posted as an event. */
    bool has_passed;           /**< By the event, in this iteration: the descriptor's activation is left out once. */
};

/**
 * One pass.
 *
 * @param host The host.
 *
 * Thread: [loop].
 */
static inline void rlc_qt_dispatch(rlc_qt_host *host) {
    if (rlc_hosted_dispatch(&host->hosted))
        delete host;
}

/**
 * The pass that is posted as an event. On GLib, Qt may activate the notifier in the same iteration.
 *
 * @param host The host.
 *
 * Thread: [loop].
 */
static inline void rlc_qt_dispatch_event(rlc_qt_host *host) {
    host->is_queued = false;
    if (rlc_hosted_dispatch(&host->hosted))
        delete host;
    else
        host->has_passed = true;
}

/**
 * The descriptor is readable. A pass of this iteration's event has served it, or will. Others than Qt may iterate its
 * GMainContext, and Qt does not say so: one activation is left out, no more.
 *
 * @param host The host.
 *
 * Thread: [loop].
 */
static inline void rlc_qt_activated(rlc_qt_host *host) {
    bool is_served = host->is_queued || host->has_passed;
    host->has_passed = false;
    if (!is_served)
        rlc_qt_dispatch(host);
}

/**
 * Before Qt sleeps, and when it is awake again: work that is there becomes an event, which ends the sleep.
 *
 * @param host The host.
 *
 * Thread: [loop].
 */
static inline void rlc_qt_prepare(rlc_qt_host *host) {
    host->has_passed = false;
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached) {
        if (rlc_hosted_is_over(&host->hosted))
            delete host;
        return;
    }
    if (host->hosted.status < 0)
        host->notifier->setEnabled(false);
    if (!has_work || host->is_queued)
        return;
    host->is_queued = true;
    QMetaObject::invokeMethod(
        host->context, [host] { rlc_qt_dispatch_event(host); }, Qt::QueuedConnection);
}

/**
 * Adds a loop to the event loop of the calling thread.
 *
 * @param loop     The loop; the caller destroys it after rlc_qt_detach.
 * @param ret_host The host; the caller ends it by rlc_qt_detach.
 * @return 0; -ENOMEM; -EINVAL (the thread has no event dispatcher yet: create the application or the thread's event
 *         loop first).
 *
 * Thread: [loop].
 */
static inline int rlc_qt_attach(rlc_loop *loop, rlc_qt_host **ret_host) {
    QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    if (dispatcher == nullptr)
        return -EINVAL;
    rlc_qt_host *host = new (std::nothrow) rlc_qt_host{rlc_hosted_make(loop), nullptr, nullptr, false, false};
    if (host == nullptr)
        return -ENOMEM;
    host->context = new QObject;
    host->notifier = new QSocketNotifier(rlc_loop_fd(loop), QSocketNotifier::Read, host->context);
    auto prepare = [host] { rlc_qt_prepare(host); };
    QObject::connect(host->notifier, &QSocketNotifier::activated, host->context, [host] { rlc_qt_activated(host); });
    QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, host->context, prepare);
    QObject::connect(dispatcher, &QAbstractEventDispatcher::awake, host->context, prepare);
    *ret_host = host;
    return 0;
}

/**
 * Tells whether the loop has failed: it is not served any more then.
 *
 * @param host From rlc_qt_attach.
 * @return 0, or what rlc_loop_prepare or rlc_loop_dispatch have failed with, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline int rlc_qt_status(const rlc_qt_host *host) {
    return host->hosted.status;
}

/**
 * Removes a loop from its event loop. The loop lives on, and can be attached again.
 *
 * @param host From rlc_qt_attach, also from a callout of the loop; NULL is allowed. The pointer is invalid afterwards.
 *
 * Thread: [loop].
 */
static inline void rlc_qt_detach(rlc_qt_host *host) {
    if (host == nullptr)
        return;
    host->notifier->setEnabled(false);
    QObject::disconnect(QAbstractEventDispatcher::instance(), nullptr, host->context, nullptr);
    QCoreApplication::removePostedEvents(host->context); /* a pass that is posted would come after the host */
    if (rlc_hosted_detach(&host->hosted)) {
        delete host->context;
        delete host;
    } else {
        host->context->deleteLater(); /* one of its slots is on the stack */
    }
}

#endif
