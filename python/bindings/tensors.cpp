#include "python/bindings/tensors.h"

#include <ATen/DLConvertor.h>

#include "ropewalk/base/error.h"

namespace ropewalk::python {
namespace {

constexpr const char* kNew = "dltensor";
constexpr const char* kUsed = "used_dltensor";

void free_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kNew) == 0) return;
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kNew));
  managed->deleter(managed);
}

}  // namespace

at::Tensor take_tensor(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kNew) == 0) {
    throw UsageError("expected a DLPack capsule that was not used before");
  }
  at::Tensor tensor =
      at::fromDLPack(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kNew)));
  PyCapsule_SetName(capsule.ptr(), kUsed);
  return tensor;
}

nb::object give_tensor(const at::Tensor& tensor) {
  DLManagedTensor* const managed = at::toDLPack(tensor);
  PyObject* const capsule = PyCapsule_New(managed, kNew, free_unused);
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

}  // namespace ropewalk::python
